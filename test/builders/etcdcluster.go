package builders

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// EtcdClusterBuilder makes an EtcdCluster.
type EtcdClusterBuilder struct{ made databasev1alpha1.EtcdCluster }

// EtcdCluster starts one with nothing but a name.
func EtcdCluster(name string) *EtcdClusterBuilder {
	return &EtcdClusterBuilder{databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}}
}

// In puts it into a namespace.
func (f *EtcdClusterBuilder) In(namespace string) *EtcdClusterBuilder {
	f.made.Namespace = namespace
	return f
}

// Size sets the number of members.
func (f *EtcdClusterBuilder) Size(size int32) *EtcdClusterBuilder {
	f.made.Spec.Size = ptr.To(size)
	return f
}

// Version sets the version.
func (f *EtcdClusterBuilder) Version(version string) *EtcdClusterBuilder {
	f.made.Spec.Version = version
	return f
}

// Storage gives each member a volume of that size.
func (f *EtcdClusterBuilder) Storage(size string) *EtcdClusterBuilder {
	f.made.Spec.Storage = &databasev1alpha1.EtcdStorage{Size: resource.MustParse(size)}
	return f
}

// TLS takes the certificate that clients are shown from that Secret.
func (f *EtcdClusterBuilder) TLS(secret string, auth databasev1alpha1.EtcdClientAuth) *EtcdClusterBuilder {
	f.made.Spec.TLS = &databasev1alpha1.EtcdTLS{SecretName: secret, ClientAuth: auth}
	return f
}

// Auth takes the applications' password from that Secret.
func (f *EtcdClusterBuilder) Auth(secret string) *EtcdClusterBuilder {
	f.made.Spec.Auth = &databasev1alpha1.EtcdAuth{SecretName: secret}
	return f
}

// Quota sets how much data a member stores.
func (f *EtcdClusterBuilder) Quota(quota string) *EtcdClusterBuilder {
	f.made.Spec.Quota = ptr.To(resource.MustParse(quota))
	return f
}

// With changes the spec.
func (f *EtcdClusterBuilder) With(change func(*databasev1alpha1.EtcdClusterSpec)) *EtcdClusterBuilder {
	change(&f.made.Spec)
	return f
}

// Build gives the object.
func (f *EtcdClusterBuilder) Build() *databasev1alpha1.EtcdCluster { return f.made.DeepCopy() }
