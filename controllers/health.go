package controllers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// addHealthChecks adds the checks that the kubelet asks for: /readyz says whether this process could lead at once,
// /healthz whether only a new process can continue. Neither asks the API server or a user's server: a restart fixes none
// of them.
func addHealthChecks(ctx context.Context, mgr ctrl.Manager, namespaces []string, tracker *converge.ReconcileTracker) error {
	watched := slices.Collect(maps.Keys(CacheOptions(namespaces).ByObject))
	for _, k := range kinds {
		watched = append(watched, k.object)
	}
	for _, object := range watched {
		object = converge.AsCached(object)
		// An informer that is requested now is full before this process leads.
		if _, err := mgr.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	caches := &cachesSynced{}
	if err := mgr.Add(caches); err != nil {
		return fmt.Errorf("adding what notices full caches: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", caches.check); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	if err := mgr.AddHealthzCheck("passes", livenessCheck(tracker, mgr.GetLogger().WithName("health"))); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	return nil
}

// cachesSynced is true while all caches hold what the cluster has. The manager starts it once they do, in every
// process and not in the leader alone.
type cachesSynced struct{ atomic.Bool }

// NeedLeaderElection returns false: a standby must be ready, too.
func (*cachesSynced) NeedLeaderElection() bool { return false }

// Start marks the caches as full until the process is to end.
func (c *cachesSynced) Start(ctx context.Context) error {
	c.Store(true)
	<-ctx.Done()
	c.Store(false)
	return nil
}

var errCachesNotSynced = errors.New("the caches are not filled yet")

func (c *cachesSynced) check(*http.Request) error {
	if !c.Load() {
		return errCachesNotSynced
	}
	return nil
}

// livenessCheck fails if a pass is stuck. The first time, it logs what every goroutine does, because the restart
// leaves no other trace.
func livenessCheck(tracker *converge.ReconcileTracker, log logr.Logger) func(*http.Request) error {
	var once sync.Once
	return func(*http.Request) error {
		err := tracker.Stuck()
		if err != nil {
			once.Do(func() {
				var stacks bytes.Buffer
				_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1) // a buffer takes everything
				log.Error(err, "the kubelet is asked for a restart", "goroutines", stacks.String())
			})
		}
		return err
	}
}
