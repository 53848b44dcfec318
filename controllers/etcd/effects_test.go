package etcd

import (
	"context"
	"errors"
	"testing"
)

// A pass in which the record could not be saved must not go on: a pod would be told to start by what nobody will remember.
func TestWhatWasNotSavedIsKnown(t *testing.T) {
	var refusal error
	a := &apiEffects{saveStatus: func(context.Context) error { return refusal }}
	for _, err := range []error{nil, errors.New("conflict"), nil} {
		if refusal = err; !errors.Is(a.save(t.Context()), err) || a.unsaved != (err != nil) {
			t.Errorf("saved with %v: unsaved is %t", err, a.unsaved)
		}
	}
}
