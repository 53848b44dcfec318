package fault

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// stream is a watch of one kind of object. An end before its time is an error that
// stays, since what happened meanwhile was not seen.
type stream struct {
	of    string                                             // for people
	start func(ctx context.Context) (watch.Interface, error) // takes all that there is, and watches from there
	take  func(watch.Event)

	mu    sync.Mutex
	ended chan struct{}
	err   error
}

// Follow until ctx ends. A test that stops the API server follows again when it is
// back: that the watch has ended is then no error.
func (s *stream) Follow(ctx context.Context) error {
	if s.ended != nil {
		select {
		case <-s.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	watcher, err := s.start(ctx)
	if err != nil {
		return fmt.Errorf("watching %s: %w", s.of, err)
	}
	ended := make(chan struct{})
	s.ended = ended
	s.finish(nil)
	go func() {
		defer close(ended)
		defer watcher.Stop()
		for change := range watcher.ResultChan() {
			s.take(change)
		}
		if ctx.Err() == nil {
			s.finish(fmt.Errorf("the watch of %s ended", s.of))
		}
	}()
	return nil
}

func (s *stream) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// finished is nil while nothing can have been missed.
func (s *stream) finished() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
