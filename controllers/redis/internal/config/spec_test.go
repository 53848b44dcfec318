package config_test

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// A pod's limit may be somebody else's, as a webhook's.
func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "100Mi": 100 << 20, "1500m": 2, "7E": 7e18, "100E": math.MaxInt64, "9223372036854775807": math.MaxInt64} {
		q := resource.MustParse(text)
		if got := Bytes(&q); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
