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

// newOptionalAPIs have a cache of their own: the manager's must be told of every type
// that it chooses from by label, and refuses one that the cluster lacks.
func newOptionalAPIs(mgr ctrl.Manager, namespaces []string) (*converge.OptionalAPIs, error) {
	options := CacheOptions(namespaces)
	options.ByObject = nil
	options.DefaultLabelSelector = labels.SelectorFromSet(labels.Set{parts.LabelManagedBy: parts.ManagedBy})
	options.Scheme, options.Mapper, options.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
	made, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("making the cache of types that a cluster may lack: %w", err)
	}
	return &converge.OptionalAPIs{Cache: made, Mapper: mgr.GetRESTMapper(), Clock: clock.RealClock{}}, mgr.Add(managedCache{lenientCache{made}})
}

// optionalSyncTimeout with types that a cluster may lack: one that cannot be listed, for want of a
// right or of its conversion, must not keep the operator from its work.
const optionalSyncTimeout = 10 * time.Second

// lenientCache is a cache that nobody waits for any longer.
type lenientCache struct{ cache.Cache }

// WaitForCacheSync gives up, and says that all is well.
func (l lenientCache) WaitForCacheSync(ctx context.Context) bool {
	bounded, cancel := context.WithTimeout(ctx, optionalSyncTimeout)
	defer cancel()
	_ = l.Cache.WaitForCacheSync(bounded)
	return true
}
