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
func (f *RedisBuilder) Size(size int32) *RedisBuilder {
	f.made.Spec.Size = ptr.To(size)
	return f
}

// Image sets the image.
func (f *RedisBuilder) Image(image string) *RedisBuilder {
	f.made.Spec.Image = image
	return f
}

// Valkey makes it one of that flavor.
func (f *RedisBuilder) Valkey() *RedisBuilder {
	f.made.Spec.Flavor = cachev1alpha1.FlavorValkey
	return f
}

// TLS takes its certificate from that Secret.
func (f *RedisBuilder) TLS(secret string, auth cachev1alpha1.RedisClientAuth) *RedisBuilder {
	f.made.Spec.TLS = &cachev1alpha1.RedisTLS{SecretName: secret, ClientAuth: auth}
	return f
}

// Storage gives each node a volume of that size.
func (f *RedisBuilder) Storage(size string) *RedisBuilder {
	f.made.Spec.Storage = &cachev1alpha1.RedisStorage{Size: resource.MustParse(size)}
	return f
}

// Config sets one directive.
func (f *RedisBuilder) Config(name, value string) *RedisBuilder {
	if f.made.Spec.Config == nil {
		f.made.Spec.Config = map[string]cachev1alpha1.RedisConfigValue{}
	}
	f.made.Spec.Config[name] = cachev1alpha1.RedisConfigValue(value)
	return f
}

// MinReplicas sets W.
func (f *RedisBuilder) MinReplicas(w int32) *RedisBuilder {
	f.made.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To(w)}
	return f
}

// Limit sets the memory limit.
func (f *RedisBuilder) Limit(memory string) *RedisBuilder {
	f.made.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	return f
}

// With changes anything else.
func (f *RedisBuilder) With(change func(*cachev1alpha1.RedisSpec)) *RedisBuilder {
	change(&f.made.Spec)
	return f
}

// Build gives the object.
func (f *RedisBuilder) Build() *cachev1alpha1.Redis { return f.made.DeepCopy() }
