package fault

import (
	"os"
	"testing"
	"time"
)

func TestCPUTimeIn(t *testing.T) {
	got, err := cpuTimeIn("7 (a ) b) S 1 7 7 0 -1 4194560 900 0 3 0 150 25 8 4 20 0 9 0 12345 1000 200\n")
	if want := 1750 * time.Millisecond; got != want || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"", "7 (a) S 1 7", "7 (a) S 1 7 7 0 -1 4194560 900 0 3 0 x y 8"} {
		if got, err := cpuTimeIn(wrong); err == nil {
			t.Errorf("%q is %v", wrong, got)
		}
	}
}

func TestCPUTimeOfThisProcess(t *testing.T) {
	if used, err := CPUTime(os.Getpid()); err != nil || used < 0 {
		t.Errorf("%v, %v", used, err)
	}
}
