package wait

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitingStopsWhenThereIsNoHope(t *testing.T) {
	calls, cause := 0, errors.New("it has failed")
	err := For(t.Context(), time.Minute, time.Millisecond, func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return Final(cause)
	})
	if calls != 3 || !errors.Is(err, cause) {
		t.Error(calls, err)
	}
	if err := For(t.Context(), time.Millisecond, time.Millisecond, func(context.Context) error { return cause }); !errors.Is(err, cause) {
		t.Error("when time is over the last cause is reported, not", err)
	}
}

func TestWaitingGoesAsLongAsThereIsProgress(t *testing.T) {
	for _, c := range []struct {
		name                string
		steps               int // each of them half a minute after the one before; then nothing changes
		done                int // the step at which the check succeeds
		want                string
		after, stall, limit time.Duration
	}{
		{"a check that succeeds late, after steady progress", 20, 20, "", 10 * time.Minute, time.Minute, time.Hour},
		{"a check that makes no more progress", 3, 20, "no progress within 1m0s: step 3", 150 * time.Second, time.Minute, time.Hour},
		{"a check that makes progress for too long", 1000, 1000, "not within 1h0m0s: step ", time.Hour, time.Minute, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := WhileProgress(t.Context(), c.stall, c.limit, time.Second, func(context.Context) error {
					step := min(int(time.Since(start)/(30*time.Second)), c.steps)
					if step == c.done {
						return nil
					}
					return fmt.Errorf("step %d", step)
				})
				if took := time.Since(start); took != c.after {
					t.Errorf("it took %s, want %s", took, c.after)
				}
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		})
	}
}
