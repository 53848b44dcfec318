package converge

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// othersFirst is how long the stuck objects wait after a process starts to lead. Reconciling all objects once
	// takes some ten seconds for a thousand.
	othersFirst = time.Minute

	// registerReadLimit bounds how long the start of the controllers waits for the register.
	registerReadLimit = 10 * time.Second
)

// StuckRegister has the objects because of which earlier leaders had to be restarted. They are reconciled last. One that
// caused two restarts in a row is not reconciled until its note has expired or its spec is changed. What this process
// notes is for the next one, and is not added here. A nil register has no objects.
type StuckRegister struct {
	// Read returns what earlier leaders have noted.
	Read func(context.Context) ([]StuckObject, error)
	// Clock decides what has expired.
	Clock clock.PassiveClock

	once     sync.Once
	mu       sync.Mutex
	readAt   time.Time // when this process first tried to read
	complete bool
	objects  []StuckObject
}

// ReadOnce reads the register, if no try has succeeded yet.
func (s *StuckRegister) ReadOnce(ctx context.Context) error {
	if s == nil || s.isComplete() {
		return nil
	}
	objects, err := s.Read(ctx)
	if err != nil {
		return fmt.Errorf("reading the list of stuck objects: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.complete = objects, true
	return nil
}

func (s *StuckRegister) isComplete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.complete
}

// find returns the object of that name, if it is remembered.
func (s *StuckRegister) find(kind string, key types.NamespacedName) (StuckObject, bool) {
	if s == nil {
		return StuckObject{}, false
	}
	now := s.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range s.objects {
		if object.isNamed(StuckObject{Kind: kind, Namespace: key.Namespace, Name: key.Name}) {
			return object, now.Before(object.expiresAt())
		}
	}
	return StuckObject{}, false
}

// stuckOfKind is the register for the queue of one kind.
type stuckOfKind struct {
	*StuckRegister
	kind string
}

// read reads the register before the queue has its first object. If that fails, all objects are served
// alike until ReadOnce succeeds.
func (s stuckOfKind) read() {
	if s.StuckRegister == nil {
		return
	}
	s.once.Do(func() {
		s.mu.Lock()
		s.readAt = s.Clock.Now()
		s.mu.Unlock()
		ctx, done := context.WithTimeout(context.Background(), registerReadLimit)
		defer done()
		if err := s.ReadOnce(ctx); err != nil {
			ctrl.Log.WithName("stuck").Error(err, "no object is reconciled last until this list can be read; it is read again later")
		}
	})
}

// contains reports whether the object is last.
func (s stuckOfKind) contains(key types.NamespacedName) bool {
	_, known := s.find(s.kind, key)
	return known
}

// delay returns how long this object still waits, so that all others are reconciled first.
func (s stuckOfKind) delay(key types.NamespacedName) time.Duration {
	if !s.contains(key) {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readAt.Add(othersFirst).Sub(s.Clock.Now())
}

// heldError means that an object is not reconciled for now.
type heldError struct{ text string }

func (h *heldError) Error() string { return h.text }

// checkHeld returns an error while the object is not to be reconciled, and for how long that will be.
func (s *StuckRegister) checkHeld(kind string, obj metav1.Object) (time.Duration, error) {
	known, is := s.find(kind, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
	if !is || !known.isHeld(obj.GetUID(), obj.GetGeneration()) {
		return 0, nil
	}
	return known.expiresAt().Sub(s.Clock.Now()), &heldError{fmt.Sprintf(
		"this object is not reconciled until %s, or until its spec is changed: %d times in a row its reconciliation did not end, and the "+
			"operator was "+
			"restarted. What runs keeps running. Check what is special in the spec, and in the Secrets and ConfigMaps that it names, and report "+
			"it as a "+
			"bug of the operator", known.expiresAt().UTC().Format(time.RFC3339), known.Restarts)}
}
