package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// newOptionalAPIs gives the optional APIs a cache of their own: the manager's cache must know every type that it
// selects by label, and refuses one that the cluster lacks.
func newOptionalAPIs(mgr ctrl.Manager, namespaces []string) (*converge.OptionalAPIs, error) {
	options := CacheOptions(namespaces)
	options.ByObject, options.ReaderFailOnMissingInformer = nil, false
	options.DefaultLabelSelector = labels.SelectorFromSet(labels.Set{parts.LabelManagedBy: parts.ManagedBy})
	options.Scheme, options.Mapper, options.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
	made, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("making the cache of types that a cluster may lack: %w", err)
	}
	return &converge.OptionalAPIs{Cache: made, Mapper: mgr.GetRESTMapper(), Clock: clock.RealClock{}},
		mgr.Add(managedCache{lenientCache{made}})
}

// optionalSyncTimeout bounds the wait for types that a cluster may lack. One that cannot be listed, because a right is
// missing or its conversion fails, must not keep the operator from its work.
const optionalSyncTimeout = 10 * time.Second

// managedCache is a cache that the manager runs and fills before any controller starts.
type managedCache struct{ cache.Cache }

// GetCache makes the manager treat it as a cache.
func (m managedCache) GetCache() cache.Cache { return m.Cache }

// lenientCache is a cache that is not waited for longer than optionalSyncTimeout.
type lenientCache struct{ cache.Cache }

// WaitForCacheSync gives up after optionalSyncTimeout and reports success anyway.
func (l lenientCache) WaitForCacheSync(ctx context.Context) bool {
	bounded, cancel := context.WithTimeout(ctx, optionalSyncTimeout)
	defer cancel()
	_ = l.Cache.WaitForCacheSync(bounded)
	return true
}
