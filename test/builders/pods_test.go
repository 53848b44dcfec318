package builders

import (
	"reflect"
	"testing"
)

func TestFullPodOptionsSetEveryOption(t *testing.T) {
	var check func(reflect.Value)
	check = func(options reflect.Value) {
		for i := range options.NumField() {
			switch field := options.Type().Field(i); {
			case field.Anonymous:
				check(options.Field(i))
			case options.Field(i).IsZero():
				t.Errorf("FullPodOptions does not set %s", field.Name)
			}
		}
	}
	check(reflect.ValueOf(FullPodOptions()))
}
