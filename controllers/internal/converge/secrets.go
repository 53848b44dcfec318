package converge

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// namedSecrets is the index of objects by the Secrets that they name.
const namedSecrets = ".spec.secretNames"

// SecretVersion is the metadata of a Secret, to be filled.
func SecretVersion() *metav1.PartialObjectMetadata {
	empty := &metav1.PartialObjectMetadata{}
	empty.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return empty
}

// Secrets reads Secrets that users made: their versions are watched, their
// content is read live and only when it changed.
type Secrets struct {
	// Versions has the metadata of every Secret.
	Versions cache.Cache
	// Live reads the content.
	Live client.Reader
}

// Content of a Secret. No data at all means that there is no such Secret.
type Content struct {
	Data    map[string][]byte
	version string // that the cache knew when it was read
}

// Read gives last back while the Secret's version stands, else what it holds now.
func (s Secrets) Read(ctx context.Context, key client.ObjectKey, last *Content) (*Content, error) {
	known := SecretVersion()
	if err := s.Versions.Get(ctx, key, known); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the version of Secret %q: %w", key.Name, err)
	}
	if last != nil && last.version == known.GetResourceVersion() {
		return last, nil
	}
	var secret corev1.Secret
	switch err := s.Live.Get(ctx, key, &secret); {
	case apierrors.IsNotFound(err):
		return &Content{version: known.GetResourceVersion()}, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %q: %w", key.Name, err)
	case secret.Data == nil:
		secret.Data = map[string][]byte{}
	}
	return &Content{Data: secret.Data, version: known.GetResourceVersion()}, nil
}

// Watch gives a source that wakes the objects up that name a Secret which has
// changed. object and list are empty ones of the kind; names gives the Secrets
// that an object names.
func (s Secrets) Watch(mgr ctrl.Manager, object client.Object, list client.ObjectList, names func(client.Object) []string) (source.Source, error) {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), object, namedSecrets, names); err != nil {
		return nil, fmt.Errorf("indexing the Secrets that are named: %w", err)
	}
	return source.Kind(s.Versions, SecretVersion(), handler.TypedEnqueueRequestsFromMapFunc(
		func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
			found := list.DeepCopyObject().(client.ObjectList)
			err := mgr.GetClient().List(ctx, found, client.InNamespace(secret.Namespace), client.MatchingFields{namedSecrets: secret.Name})
			if err != nil {
				log.FromContext(ctx).Error(err, "who names the Secret", "namespace", secret.Namespace, "name", secret.Name)
				return nil
			}
			return requests(found)
		})), nil
}

func requests(list client.ObjectList) []reconcile.Request {
	var all []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error { // of lists of objects there is no error
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
		return nil
	})
	return all
}
