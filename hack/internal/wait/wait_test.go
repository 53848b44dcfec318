package wait

import (
	"context"
	"errors"
	"testing"
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
