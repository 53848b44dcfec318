package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

const (
	// stuckName is the ConfigMap, in the manager's namespace, in which a leader that must be restarted notes the objects
	// that caused it. stuckKey is its only key. config/rbac/leader_election.yaml gives the right to it.
	stuckName = "mainstay-operator.io-stuck"
	stuckKey  = "objects"

	// stuckInterval is how often the leader looks for passes that do not end.
	stuckInterval = 10 * time.Second

	// noteTimeout bounds one try to note them.
	noteTimeout = 5 * time.Second
)

// stuckStore keeps the objects over which a pass did not end, outside of the process.
type stuckStore struct {
	// writer writes only while this process leads; reader asks the API server.
	writer    client.Client
	reader    client.Reader
	namespace string
	log       logr.Logger
}

// read returns the objects; none if none was ever noted.
func (s stuckStore) read(ctx context.Context) ([]converge.StuckObject, error) {
	_, objects, err := s.get(ctx)
	return objects, err
}

// get also returns the ConfigMap, nil if there is none. One that cannot be parsed names no objects: the next ones that
// are noted replace what it has.
func (s stuckStore) get(ctx context.Context) (*corev1.ConfigMap, []converge.StuckObject, error) {
	kept := &corev1.ConfigMap{}
	err := s.reader.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: stuckName}, kept)
	if err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	objects, err := converge.ParseStuck(kept.Data[stuckKey])
	if err != nil {
		s.log.Error(err, "the ConfigMap of stuck objects cannot be parsed and is ignored; delete it, or the next note replaces it", "namespace",
			s.namespace, "name", stuckName)
	}
	return kept, objects, nil
}

// add notes more objects. A conflict is an error; the caller tries again.
func (s stuckStore) add(ctx context.Context, seen []converge.StuckObject) error {
	kept, objects, err := s.get(ctx)
	if err != nil {
		return err
	}
	for _, object := range seen {
		objects = converge.AddStuck(objects, object)
	}
	text, err := converge.FormatStuck(objects)
	if err != nil {
		return err
	}
	if kept == nil {
		kept = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: stuckName}, Data: map[string]string{stuckKey: text}}
		return s.writer.Create(ctx, kept)
	}
	kept.Data = map[string]string{stuckKey: text}
	return s.writer.Update(ctx, kept)
}

// stuckWatcher notes the objects over which a pass does not end, before /healthz has this process restarted.
type stuckWatcher struct {
	tracker  *converge.ReconcileTracker
	register *converge.StuckRegister
	store    stuckStore
	clock    clock.WithTicker
}

// newStuckWatcher adds the watcher to the manager. Without a namespace, when the manager runs by hand, nothing is kept,
// and the register is nil.
func newStuckWatcher(mgr ctrl.Manager, namespace string, tracker *converge.ReconcileTracker) (*converge.StuckRegister, error) {
	if namespace == "" {
		return nil, nil
	}
	store := stuckStore{mgr.GetClient(), mgr.GetAPIReader(), namespace, mgr.GetLogger().WithName("stuck")}
	register := &converge.StuckRegister{Read: store.read, Clock: clock.RealClock{}}
	watcher := &stuckWatcher{tracker, register, store, clock.RealClock{}}
	if err := mgr.Add(watcher); err != nil {
		return nil, fmt.Errorf("adding the watcher of stuck objects: %w", err)
	}
	return register, nil
}

// NeedLeaderElection returns true: only the leader reconciles.
func (*stuckWatcher) NeedLeaderElection() bool { return true }

// Start looks every ten seconds until the process no longer leads.
func (s *stuckWatcher) Start(ctx context.Context) error {
	ticker := s.clock.NewTicker(stuckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if err := s.look(ctx); err != nil {
				s.store.log.Error(err, "the list of stuck objects could not be read or written; it is tried again", "after", stuckInterval.String())
			}
		}
	}
}

// look also reads the register, should that have failed when the controllers started.
func (s *stuckWatcher) look(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, noteTimeout)
	defer done()
	report := s.tracker.ReportUnending(func(objects []converge.StuckObject) error {
		if err := s.store.add(ctx, objects); err != nil {
			return fmt.Errorf("noting %v for the next leader: %w", objects, err)
		}
		s.store.log.Info("the reconciliation of these objects does not end: they are noted for the next leader, which reconciles them last",
			"objects", fmt.Sprint(objects))
		return nil
	})
	return errors.Join(report, s.register.ReadOnce(ctx))
}
