package cluster

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
)

func TestForEach(t *testing.T) {
	t.Run("calls each once", func(t *testing.T) {
		var calls [100]atomic.Int32
		if err := ForEach(t.Context(), 4, len(calls), func(i int) error { calls[i].Add(1); return nil }); err != nil {
			t.Fatal(err)
		}
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("%d was called %d times", i, n)
			}
		}
	})
	t.Run("stops at the first failure", func(t *testing.T) {
		failure := errors.New("refused")
		var calls atomic.Int32
		err := ForEach(t.Context(), 1, math.MaxInt, func(i int) error {
			calls.Add(1)
			if i == 2 {
				return failure
			}
			return nil
		})
		if !errors.Is(err, failure) || calls.Load() != 3 {
			t.Errorf("%d calls: %v", calls.Load(), err)
		}
	})
	t.Run("stops without a failure when its context ends", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		if err := ForEach(ctx, 4, math.MaxInt, func(int) error { stop(); return nil }); err != nil {
			t.Error(err)
		}
	})
}
