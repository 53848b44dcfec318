package main

import (
	"context"
	"errors"
	"testing"
)

func TestTogetherRunsAllAtOnce(t *testing.T) {
	first, second := make(chan struct{}), make(chan struct{})
	meet := func(mine, other chan struct{}) func(context.Context) error {
		return func(context.Context) error {
			close(mine)
			<-other // for ever, if the other one starts later
			return nil
		}
	}
	if err := together(t.Context(), meet(first, second), meet(second, first)); err != nil {
		t.Error(err)
	}
}

func TestTheFirstFailureEndsTheOthers(t *testing.T) {
	broken, ended := errors.New("it is broken"), false
	err := together(t.Context(),
		func(context.Context) error { return broken },
		func(ctx context.Context) error {
			<-ctx.Done()
			ended = true
			return ctx.Err()
		})
	if !errors.Is(err, broken) || errors.Is(err, context.Canceled) || !ended {
		t.Errorf("%v; the other one has ended: %t", err, ended)
	}
}

func TestTogetherEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	if err := together(ctx, wait, wait); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
