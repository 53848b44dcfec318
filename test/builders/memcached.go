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
func (m *MemcachedBuilder) In(namespace string) *MemcachedBuilder {
	m.made.Namespace = namespace
	return m
}

// Size sets the number of nodes.
func (m *MemcachedBuilder) Size(size int32) *MemcachedBuilder {
	m.made.Spec.Size = ptr.To(size)
	return m
}

// Image sets the image.
func (m *MemcachedBuilder) Image(image string) *MemcachedBuilder {
	m.made.Spec.Image = image
	return m
}

// Memory sets the memory for items.
func (m *MemcachedBuilder) Memory(quantity string) *MemcachedBuilder {
	m.made.Spec.Memory = ptr.To(resource.MustParse(quantity))
	return m
}

// MaxItemSize sets the size of the largest item.
func (m *MemcachedBuilder) MaxItemSize(quantity string) *MemcachedBuilder {
	m.made.Spec.MaxItemSize = ptr.To(resource.MustParse(quantity))
	return m
}

// Limit sets the memory limit of a node.
func (m *MemcachedBuilder) Limit(quantity string) *MemcachedBuilder {
	m.made.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
	return m
}

// Options sets the extended options.
func (m *MemcachedBuilder) Options(options ...string) *MemcachedBuilder {
	m.made.Spec.Options = options
	return m
}

// Port sets the port.
func (m *MemcachedBuilder) Port(port int32) *MemcachedBuilder {
	m.made.Spec.Port = port
	return m
}

// TLS names the Secret of the certificate.
func (m *MemcachedBuilder) TLS(secret string, auth cachev1alpha1.MemcachedClientAuth) *MemcachedBuilder {
	m.made.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: secret, ClientAuth: auth}
	return m
}

// With changes the spec in any other way.
func (m *MemcachedBuilder) With(change func(*cachev1alpha1.MemcachedSpec)) *MemcachedBuilder {
	change(&m.made.Spec)
	return m
}

// Build gives a new object each time.
func (m *MemcachedBuilder) Build() *cachev1alpha1.Memcached { return m.made.DeepCopy() }
