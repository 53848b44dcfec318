package command

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

func TestAProcessThatDoesNotLeadDoesNotAct(t *testing.T) {
	acted := false
	act := func(context.Context) error { acted = true; return nil }
	if err := AsLeader(t.Context(), func() bool { return false }, act); !errors.Is(err, ErrNotLeading) || acted {
		t.Errorf("it acted: %v, error: %v", acted, err)
	}
	if err := AsLeader(t.Context(), nil, act); err != nil || !acted {
		t.Errorf("without another process it acted: %v, error: %v", acted, err)
	}
}

// The time of an act starts before the process asks whether it leads: it may be stopped between the answer and the first command.
func TestTheTimeOfAnActStartsBeforeTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := func() bool { time.Sleep(ActLimit); return true } //nolint:forbidigo // the clock of the bubble
		err := AsLeader(t.Context(), stopped, func(ctx context.Context) error {
			synctest.Wait()
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an act that started after its time has the error %v", err)
		}
	})
}

func TestAllRunAtOnceAndAPanicEndsNothingElse(t *testing.T) {
	var ran atomic.Int32
	both := make(chan struct{}) // each waits for the other
	meet := func() {
		if ran.Add(1) == 2 {
			close(both)
		}
		<-both
	}
	All(logr.NewContext(t.Context(), logr.Discard()), "testing", []func(){meet, func() { panic("while testing") }, meet})
	if ran.Load() != 2 {
		t.Errorf("%d of 2 ran", ran.Load())
	}
}
