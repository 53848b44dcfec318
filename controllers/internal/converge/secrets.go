package converge

import (
	"context"
	"fmt"
	"maps"

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

// SecretVersion is the metadata of a Secret, to be filled.
func SecretVersion() *metav1.PartialObjectMetadata { return version("Secret") }

// ConfigMapVersion is the metadata of a ConfigMap, to be filled.
func ConfigMapVersion() *metav1.PartialObjectMetadata { return version("ConfigMap") }

func version(kind string) *metav1.PartialObjectMetadata {
	empty := &metav1.PartialObjectMetadata{}
	empty.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
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

// Read gives last back while the Secret's version stands, else what it holds now.
func (s Secrets) Read(ctx context.Context, key client.ObjectKey, last *Content) (*Content, error) {
	return read(ctx, s.Versions, SecretVersion(), key, last, func() (map[string][]byte, error) {
		var secret corev1.Secret
		err := s.Live.Get(ctx, key, &secret)
		return secret.Data, err
	})
}

// Watch gives a source that wakes the objects up that name a Secret which has
// changed. object and list are empty ones of the kind; names gives the Secrets
// that an object names.
func (s Secrets) Watch(mgr ctrl.Manager, object client.Object, list client.ObjectList, names func(client.Object) []string) (source.Source, error) {
	return watch(mgr, s.Versions, SecretVersion(), object, list, names)
}

// ConfigMaps reads ConfigMaps that users made, as Secrets does Secrets.
type ConfigMaps struct {
	// Versions has the metadata of every ConfigMap.
	Versions cache.Cache
	// Live reads the content.
	Live client.Reader
}

// Read gives last back while the ConfigMap's version stands, else what it holds now.
func (c ConfigMaps) Read(ctx context.Context, key client.ObjectKey, last *Content) (*Content, error) {
	return read(ctx, c.Versions, ConfigMapVersion(), key, last, func() (map[string][]byte, error) {
		var config corev1.ConfigMap
		err := c.Live.Get(ctx, key, &config)
		data := map[string][]byte{}
		maps.Copy(data, config.BinaryData)
		for name, text := range config.Data {
			data[name] = []byte(text)
		}
		return data, err
	})
}

// Watch gives a source that wakes the objects up that name a ConfigMap which has changed.
func (c ConfigMaps) Watch(mgr ctrl.Manager, object client.Object, list client.ObjectList, names func(client.Object) []string) (source.Source, error) {
	return watch(mgr, c.Versions, ConfigMapVersion(), object, list, names)
}

// Content of a Secret or a ConfigMap. No data at all means that there is none of that name.
type Content struct {
	Data    map[string][]byte
	version string // that the cache knew when it was read
}

// Bare is the content without the values, for who remembers but their digest.
func (c *Content) Bare() *Content {
	bare := &Content{version: c.version}
	if c.Data != nil {
		bare.Data = map[string][]byte{}
	}
	return bare
}

func read(ctx context.Context, versions client.Reader, known *metav1.PartialObjectMetadata, key client.ObjectKey, last *Content,
	data func() (map[string][]byte, error)) (*Content, error) {
	kind := known.Kind
	if err := versions.Get(ctx, key, known); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the version of %s %q: %w", kind, key.Name, err)
	}
	if last != nil && last.version == known.GetResourceVersion() {
		return last, nil
	}
	content := &Content{version: known.GetResourceVersion()}
	var err error
	switch content.Data, err = data(); {
	case apierrors.IsNotFound(err):
		content.Data = nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", kind, key.Name, err)
	case content.Data == nil:
		content.Data = map[string][]byte{}
	}
	return content, nil
}

func watch(mgr ctrl.Manager, versions cache.Cache, of *metav1.PartialObjectMetadata, object client.Object, list client.ObjectList,
	names func(client.Object) []string) (source.Source, error) {
	kind := of.Kind
	named := ".spec.names" + kind // the index of objects by those that they name
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), object, named, names); err != nil {
		return nil, fmt.Errorf("indexing the %ss that are named: %w", kind, err)
	}
	return source.Kind(versions, of, handler.TypedEnqueueRequestsFromMapFunc(
		func(ctx context.Context, changed *metav1.PartialObjectMetadata) []reconcile.Request {
			found := list.DeepCopyObject().(client.ObjectList)
			err := mgr.GetClient().List(ctx, found, client.InNamespace(changed.Namespace), client.MatchingFields{named: changed.Name})
			if err != nil {
				log.FromContext(ctx).Error(err, "who names the "+kind, "namespace", changed.Namespace, "name", changed.Name)
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
