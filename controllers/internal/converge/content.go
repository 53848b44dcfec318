package converge

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SecretMetadata returns empty metadata of a Secret, to be filled.
func SecretMetadata() *metav1.PartialObjectMetadata { return metadataOf("Secret") }

// ConfigMapMetadata returns empty metadata of a ConfigMap, to be filled.
func ConfigMapMetadata() *metav1.PartialObjectMetadata { return metadataOf("ConfigMap") }

func metadataOf(kind string) *metav1.PartialObjectMetadata {
	empty := &metav1.PartialObjectMetadata{}
	empty.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return empty
}

// AsCached returns an empty object of the form in which the cache has the type: of Secrets and ConfigMaps the metadata
// alone. Labels and owner references do not prove whose they are, because anybody can set them.
func AsCached(object client.Object) client.Object {
	switch object.(type) {
	case *corev1.Secret:
		return SecretMetadata()
	case *corev1.ConfigMap:
		return ConfigMapMetadata()
	}
	return object
}

// readWhole returns the child that the cache has metadata of, as the API server has it now. It is read by the name that
// the owner's spec gives, and once for each version.
func (c *Converger) readWhole(ctx context.Context, owner Object, cached client.Object) (client.Object, error) {
	gvk := cached.GetObjectKind().GroupVersionKind()
	if known := c.secrets.known(owner, cached); known != nil {
		return known, nil
	}
	live, err := c.newObject(gvk)
	if err != nil {
		return nil, err
	}
	switch err := c.APIReader.Get(ctx, client.ObjectKeyFromObject(cached), live); {
	case apierrors.IsNotFound(err), err == nil && live.GetUID() != cached.GetUID(): // the cache lags: its event brings the next pass
		return nil, apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, cached.GetName(),
			errors.New("it is not the one that the cache has"))
	case err != nil:
		return nil, fmt.Errorf("reading its content: %w", err)
	}
	c.secrets.note(owner, live)
	return live, nil
}
