package fault

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestKibibytesIn(t *testing.T) {
	const running = "Name:\tx\nVmPeak:\t  999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\nRssAnon:\t     512 kB\n"
	for _, c := range []struct {
		status, name string
		want         int64
	}{
		{running, "VmHWM", 2048},
		{running, "RssAnon", 512},
		{"Name:\tx\nState:\tZ (zombie)\n", "VmHWM", 0},
	} {
		if got := kibibytesIn(c.status, c.name); got != c.want {
			t.Errorf("%s of %q: %d, not %d", c.name, c.status, got, c.want)
		}
	}
}

// A file that a process maps is not its own memory.
func TestMappedFilesAreNotCounted(t *testing.T) {
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	const size = 256 << 20
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mapped) }()
	command := os.Args[1]
	p := WatchPeaks(t.Context(), strings.TrimSpace(string(comm)), command)
	if err := wait.PollUntilContextTimeout(t.Context(), peaksPause, time.Minute, true, func(context.Context) (bool, error) {
		return p.Bytes()[command] > 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	if resident, err := peakOf(os.Getpid()); err != nil || resident < size {
		t.Fatalf("%v: of the file, %d bytes are resident", err, resident)
	}
	if own := p.Bytes()[command]; own >= size {
		t.Errorf("%d bytes are counted as the process's own", own)
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
