package fault

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestFollow(t *testing.T) {
	var taken []watch.EventType
	source := watch.NewFake()
	s := &stream{of: "pods", take: func(e watch.Event) { taken = append(taken, e.Type) },
		start: func(context.Context) (watch.Interface, error) { return source, nil }}
	ctx, stop := context.WithCancel(t.Context())
	if err := s.Follow(ctx); err != nil {
		t.Fatal(err)
	}
	source.Add(&corev1.Pod{})
	if err := s.finished(); err != nil {
		t.Errorf("it continues, and says %v", err)
	}
	source.Stop() // the API server goes
	<-s.ended
	if s.finished() == nil {
		t.Error("it ended before its time, and says nothing")
	}

	source = watch.NewFake()
	if err := s.Follow(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.finished(); err != nil {
		t.Errorf("it continues again, and says %v", err)
	}
	stop()
	source.Stop()
	<-s.ended
	if err := s.finished(); err != nil || len(taken) != 1 {
		t.Errorf("it was to end, took %v, and says %v", taken, err)
	}
}
