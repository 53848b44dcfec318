// Package builders makes objects of every kind for tests, as a user's manifest
// would: what is not said is not sent.
package builders

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// MemcachedBuilder makes a Memcached.
type MemcachedBuilder struct{ made cachev1alpha1.Memcached }

// Memcached starts one with nothing but a name.
func Memcached(name string) *MemcachedBuilder {
	return &MemcachedBuilder{cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: name}}}
}

// In puts it into a namespace.
func (f *MemcachedBuilder) In(namespace string) *MemcachedBuilder {
	f.made.Namespace = namespace
	return f
}

// Size sets the number of nodes.
func (f *MemcachedBuilder) Size(size int32) *MemcachedBuilder {
	f.made.Spec.Size = ptr.To(size)
	return f
}

// Image sets the image.
func (f *MemcachedBuilder) Image(image string) *MemcachedBuilder {
	f.made.Spec.Image = image
	return f
}

// Memory sets the memory for items.
func (f *MemcachedBuilder) Memory(quantity string) *MemcachedBuilder {
	f.made.Spec.Memory = ptr.To(resource.MustParse(quantity))
	return f
}

// MaxItemSize sets the size of the largest item.
func (f *MemcachedBuilder) MaxItemSize(quantity string) *MemcachedBuilder {
	f.made.Spec.MaxItemSize = ptr.To(resource.MustParse(quantity))
	return f
}

// Limit sets the memory limit of a node.
func (f *MemcachedBuilder) Limit(quantity string) *MemcachedBuilder {
	f.made.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
	return f
}

// Options sets the extended options.
func (f *MemcachedBuilder) Options(options ...string) *MemcachedBuilder {
	f.made.Spec.Options = options
	return f
}

// Port sets the port.
func (f *MemcachedBuilder) Port(port int32) *MemcachedBuilder {
	f.made.Spec.Port = port
	return f
}

// TLS names the Secret of the certificate.
func (f *MemcachedBuilder) TLS(secret string, auth cachev1alpha1.MemcachedClientAuth) *MemcachedBuilder {
	f.made.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: secret, ClientAuth: auth}
	return f
}

// With changes the spec in any other way.
func (f *MemcachedBuilder) With(change func(*cachev1alpha1.MemcachedSpec)) *MemcachedBuilder {
	change(&f.made.Spec)
	return f
}

// Build gives a new object each time.
func (f *MemcachedBuilder) Build() *cachev1alpha1.Memcached { return f.made.DeepCopy() }
