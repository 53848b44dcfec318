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

// ContentReader reads Secrets or ConfigMaps that users made: it watches their versions, and reads the content live and
// only when it has changed.
type ContentReader struct {
	metadataCache cache.Cache // has the metadata of every one
	newMetadata   func() *metav1.PartialObjectMetadata
	fetch         func(context.Context, client.ObjectKey) (map[string][]byte, error)
}

// NewSecretReader reads Secrets: versions has their metadata, live reads their content.
func NewSecretReader(versions cache.Cache, live client.Reader) ContentReader {
	return ContentReader{versions, SecretMetadata, func(ctx context.Context, key client.ObjectKey) (map[string][]byte, error) {
		var secret corev1.Secret
		err := live.Get(ctx, key, &secret)
		return secret.Data, err
	}}
}

// NewConfigMapReader reads ConfigMaps: versions has their metadata, live reads their content.
func NewConfigMapReader(versions cache.Cache, live client.Reader) ContentReader {
	return ContentReader{versions, ConfigMapMetadata, func(ctx context.Context, key client.ObjectKey) (map[string][]byte, error) {
		var config corev1.ConfigMap
		err := live.Get(ctx, key, &config)
		data := map[string][]byte{}
		maps.Copy(data, config.BinaryData)
		for name, text := range config.Data {
			data[name] = []byte(text)
		}
		return data, err
	}}
}

// Content is that of a Secret or a ConfigMap. Nil data means that there is none of that name.
type Content struct {
	Data            map[string][]byte
	resourceVersion string // that the cache knew when the content was read
}

// size is the length of all keys and values in bytes.
func (c *Content) size() (size int) {
	for key, value := range c.Data {
		size += len(key) + len(value)
	}
	return size
}

// WithoutValues returns the content without the values, for a caller that remembers only their digest.
func (c *Content) WithoutValues() *Content {
	bare := &Content{resourceVersion: c.resourceVersion}
	if c.Data != nil {
		bare.Data = map[string][]byte{}
	}
	return bare
}

// ReadIfChanged returns last while the object's version is the same, else what the object holds now.
func (c ContentReader) ReadIfChanged(ctx context.Context, key client.ObjectKey, last *Content) (*Content, error) {
	known := c.newMetadata()
	kind := known.Kind
	if err := c.metadataCache.Get(ctx, key, known); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the version of %s %q: %w", kind, key.Name, err)
	}
	if last != nil && last.resourceVersion == known.GetResourceVersion() {
		return last, nil
	}
	content := &Content{resourceVersion: known.GetResourceVersion()}
	var err error
	switch content.Data, err = c.fetch(ctx, key); {
	case apierrors.IsNotFound(err):
		content.Data = nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", kind, key.Name, err)
	case content.Data == nil:
		content.Data = map[string][]byte{}
	}
	return content, nil
}

// Watch returns a source that wakes up the objects which name a Secret or ConfigMap that has changed. object and list
// are empty ones of the kind; names returns what an object names.
func (c ContentReader) Watch(mgr ctrl.Manager, object client.Object, list client.ObjectList,
	names func(client.Object) []string) (source.Source, error) {
	kind := c.newMetadata().Kind
	named := ".spec.names" + kind // the index of objects by those that they name
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), object, named, names); err != nil {
		return nil, fmt.Errorf("indexing the %ss that are named: %w", kind, err)
	}
	return source.Kind(c.metadataCache, c.newMetadata(), handler.TypedEnqueueRequestsFromMapFunc(
		func(ctx context.Context, changed *metav1.PartialObjectMetadata) []reconcile.Request {
			found := list.DeepCopyObject().(client.ObjectList)
			err := mgr.GetClient().List(ctx, found, client.InNamespace(changed.Namespace), client.MatchingFields{named: changed.Name})
			if err != nil {
				log.FromContext(ctx).Error(err, "who names the "+kind, "namespace", changed.Namespace, "name", changed.Name)
				return nil
			}
			return requestsFor(found)
		})), nil
}

func requestsFor(list client.ObjectList) []reconcile.Request {
	var all []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error { // of lists of objects there is no error
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
		return nil
	})
	return all
}
