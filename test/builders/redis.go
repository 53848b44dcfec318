package builders

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// RedisBuilder makes a Redis.
type RedisBuilder struct{ made cachev1alpha1.Redis }

// Redis starts one with nothing but a name.
func Redis(name string) *RedisBuilder {
	return &RedisBuilder{cachev1alpha1.Redis{ObjectMeta: metav1.ObjectMeta{Name: name}}}
}

// Size sets the number of nodes.
func (r *RedisBuilder) Size(size int32) *RedisBuilder {
	r.made.Spec.Size = ptr.To(size)
	return r
}

// Image sets the image.
func (r *RedisBuilder) Image(image string) *RedisBuilder {
	r.made.Spec.Image = image
	return r
}

// Valkey makes it one of that flavor.
func (r *RedisBuilder) Valkey() *RedisBuilder {
	r.made.Spec.Flavor = cachev1alpha1.FlavorValkey
	return r
}

// TLS takes its certificate from that Secret.
func (r *RedisBuilder) TLS(secret string, auth cachev1alpha1.RedisClientAuth) *RedisBuilder {
	r.made.Spec.TLS = &cachev1alpha1.RedisTLS{SecretName: secret, ClientAuth: auth}
	return r
}

// Storage gives each node a volume of that size.
func (r *RedisBuilder) Storage(size string) *RedisBuilder {
	r.made.Spec.Storage = &cachev1alpha1.RedisStorage{Size: resource.MustParse(size)}
	return r
}

// Config sets one directive.
func (r *RedisBuilder) Config(name, value string) *RedisBuilder {
	if r.made.Spec.Config == nil {
		r.made.Spec.Config = map[string]cachev1alpha1.RedisConfigValue{}
	}
	r.made.Spec.Config[name] = cachev1alpha1.RedisConfigValue(value)
	return r
}

// MinReplicas sets W.
func (r *RedisBuilder) MinReplicas(w int32) *RedisBuilder {
	r.made.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To(w)}
	return r
}

// Limit sets the memory limit.
func (r *RedisBuilder) Limit(memory string) *RedisBuilder {
	r.made.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	return r
}

// With changes anything else.
func (r *RedisBuilder) With(change func(*cachev1alpha1.RedisSpec)) *RedisBuilder {
	change(&r.made.Spec)
	return r
}

// Build gives the object.
func (r *RedisBuilder) Build() *cachev1alpha1.Redis { return r.made.DeepCopy() }
