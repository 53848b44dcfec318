package controllers

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// extensions have a cache of their own: the manager's must be told of every type
// that it chooses from by label, and refuses one that the cluster lacks.
func extensions(mgr ctrl.Manager, namespaces []string) (*converge.Extensions, error) {
	options := CacheOptions(namespaces)
	options.ByObject = nil
	options.DefaultLabelSelector = labels.SelectorFromSet(labels.Set{parts.LabelManagedBy: parts.ManagedBy})
	options.Scheme, options.Mapper, options.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
	made, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("making the cache of types that a cluster may lack: %w", err)
	}
	return &converge.Extensions{Cache: made, Mapper: mgr.GetRESTMapper(), Clock: clock.RealClock{}}, mgr.Add(foreign{made})
}
