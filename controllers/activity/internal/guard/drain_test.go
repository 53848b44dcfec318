package guard

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// TestTheGuardStaysUntilTheOutputWasRead has a reader that takes some time, and a clock that only waiting moves.
func TestTheGuardStaysUntilTheOutputWasRead(t *testing.T) {
	for name, c := range map[string]struct {
		reads     time.Duration // how long the reader takes; forever if negative
		interrupt time.Duration // when a signal comes; never if 0
		atLeast   time.Duration
		andAtMost time.Duration
	}{
		"at once":                {0, 0, drainMargin, drainMargin},
		"in a while":             {time.Second, 0, 4 * time.Second, 4*time.Second + 10*time.Millisecond + drainMargin},
		"slowly":                 {6 * time.Second, 0, drainLimit, drainLimit + drainPoll},
		"never":                  {-1, 0, drainLimit, drainLimit + drainPoll},
		"a signal while it does": {-1, time.Second, time.Second, time.Second + drainPoll},
		"a signal after it did":  {time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Unix(1, 0)
			now := start
			drain(func() time.Time { return now }, func() int {
				if c.reads >= 0 && now.Sub(start) >= c.reads {
					return 0
				}
				return 1
			}, func(d time.Duration) bool {
				if c.interrupt > 0 && now.Add(d).Sub(start) > c.interrupt {
					now = start.Add(max(now.Sub(start), c.interrupt))
					return false
				}
				now = now.Add(d)
				return true
			})
			if took := now.Sub(start); took < c.atLeast || took > c.andAtMost {
				t.Errorf("the guard stayed for %s, not %s", took, c.atLeast)
			}
		})
	}
}

func TestAStreamKnowsWhatTheOtherPrintedSince(t *testing.T) {
	var total atomic.Int64
	a, b := stream{total: &total}, stream{total: &total}
	a.remember([]byte("12345"))
	b.remember([]byte("123\r\n"))
	b.remember([]byte("12"))
	if a, b := a.report(), b.report(); a.Since != 6 || b.Since != 0 || a.Bytes != 5 || b.Bytes != 6 {
		t.Errorf("got %+v and %+v", a, b)
	}
}

func TestKilledProcessesAreCounted(t *testing.T) {
	defer func(files []string) { oomFiles = files }(oomFiles)
	v2, v1 := filepath.Join(t.TempDir(), "memory.events"), filepath.Join(t.TempDir(), "memory.oom_control")
	oomFiles = []string{v2, v1}
	if n := oomKills(); n != -1 {
		t.Errorf("without a file: %d", n)
	}
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(v1, "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
	if n := oomKills(); n != 2 {
		t.Errorf("v1: %d", n)
	}
	write(v2, "low 0\nhigh 0\nmax 7\noom 4\noom_kill 3\noom_group_kill 0\n")
	if n := oomKills(); n != 3 {
		t.Errorf("v2: %d", n)
	}
	for _, c := range [][3]int64{{3, 1, 2}, {-1, 1, -1}, {3, -1, -1}, {0, 0, 0}} {
		if n := since(c[0], c[1]); n != c[2] {
			t.Errorf("since(%d, %d) is %d", c[0], c[1], n)
		}
	}
}
