package fault

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

func TestPeakIn(t *testing.T) {
	for status, want := range map[string]int64{
		"Name:\tx\nVmPeak:\t  999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n": 2 << 20,
		"Name:\tx\nState:\tZ (zombie)\n":                                    0,
	} {
		if got := peakIn(status); got != want {
			t.Errorf("%q: %d, not %d", status, got, want)
		}
	}
}

func TestWatchPeaks(t *testing.T) {
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	command := os.Args[1] // go test gives some
	p := WatchPeaks(t.Context(), strings.TrimSpace(string(comm)), command)
	err = wait.PollUntilContextTimeout(t.Context(), peaksPause, time.Minute, true, func(context.Context) (bool, error) {
		return p.Bytes()[command] > 1<<20, nil
	})
	if err != nil {
		t.Errorf("%v: this process is not seen: %v", err, p.Bytes())
	}
}

func TestPeakIsForgotten(t *testing.T) {
	if err := forgetPeakOf(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	low, err := peakOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ballast := make([]byte, 64<<20)
	for i := range ballast {
		ballast[i] = byte(i)
	}
	high, err := peakOf(os.Getpid())
	if err != nil || high < low+(32<<20) {
		t.Errorf("%v: from %d to %d bytes, with %d more in use", err, low, high, len(ballast))
	}
	runtime.KeepAlive(ballast)
	debug.FreeOSMemory()
	if err := forgetPeakOf(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	if now, err := peakOf(os.Getpid()); err != nil || now > high-(32<<20) {
		t.Errorf("%v: still %d of %d bytes", err, now, high)
	}
}
