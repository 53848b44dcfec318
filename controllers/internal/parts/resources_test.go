package parts

import (
	"math"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-1": 0, "1": 1, "1500m": 2, "1m": 1, "100Mi": 100 << 20, "7E": 7e18, "9223372036854775807": math.MaxInt64,
		"16Ei": math.MaxInt64, "100E": math.MaxInt64, "1e30": math.MaxInt64, "1e9999999": math.MaxInt64,
	} {
		if got := Bytes(resource.MustParse(text)); got != want {
			t.Errorf("%s has %d bytes, not %d", text, got, want)
		}
	}
}

// A tenant's pod or claim can have a quantity of two billion digits. Its bytes are found without computing it: counted in bytes.
func TestBytesCostsNoMoreThanTheQuantityIsLong(t *testing.T) {
	huge := resource.MustParse("1e2000000")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := Bytes(huge)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; got != math.MaxInt64 || allocated > 64<<10 {
		t.Errorf("%d bytes, for which %d were allocated", got, allocated)
	}
}
