package controllers

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// managedCache is a cache that the manager runs and fills before any controller starts.
type managedCache struct{ cache.Cache }

// GetCache makes the manager treat it as a cache.
func (f managedCache) GetCache() cache.Cache { return f.Cache }

// newMetadataCache makes a cache that knows the version of every Secret and ConfigMap, but not the content: enough to
// notice a change of one that an object names. The manager's own cache cannot do this: it has only our Secrets, and
// allows one selector for each type.
func newMetadataCache(ctx context.Context, mgr ctrl.Manager, namespaces []string) (cache.Cache, error) {
	options := CacheOptions(namespaces)
	options.ByObject = nil
	options.DefaultTransform = stripToVersion
	options.Scheme, options.Mapper, options.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
	made, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("making the cache of versions: %w", err)
	}
	for _, kind := range []client.Object{converge.SecretMetadata(), converge.ConfigMapMetadata()} {
		// An informer that is requested now is full before this process leads.
		if _, err := made.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return nil, fmt.Errorf("watching versions: %w", err)
		}
	}
	return made, mgr.Add(managedCache{made})
}

// stripToVersion removes everything but the name and the version.
func stripToVersion(in any) (any, error) {
	switch obj := in.(type) {
	case toolscache.DeletedFinalStateUnknown:
		return in, nil
	case *metav1.PartialObjectMetadata:
		bare := &metav1.PartialObjectMetadata{TypeMeta: obj.TypeMeta}
		bare.Namespace, bare.Name, bare.ResourceVersion = obj.Namespace, obj.Name, obj.ResourceVersion
		return bare, nil
	default:
		return nil, fmt.Errorf("want the metadata of an object, got %T", in)
	}
}
