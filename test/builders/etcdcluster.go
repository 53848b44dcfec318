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
func (e *EtcdClusterBuilder) In(namespace string) *EtcdClusterBuilder {
	e.made.Namespace = namespace
	return e
}

// Size sets the number of members.
func (e *EtcdClusterBuilder) Size(size int32) *EtcdClusterBuilder {
	e.made.Spec.Size = ptr.To(size)
	return e
}

// Version sets the version.
func (e *EtcdClusterBuilder) Version(version string) *EtcdClusterBuilder {
	e.made.Spec.Version = version
	return e
}

// Storage gives each member a volume of that size.
func (e *EtcdClusterBuilder) Storage(size string) *EtcdClusterBuilder {
	e.made.Spec.Storage = &databasev1alpha1.EtcdStorage{Size: resource.MustParse(size)}
	return e
}

// TLS takes the certificate that clients are shown from that Secret.
func (e *EtcdClusterBuilder) TLS(secret string, auth databasev1alpha1.EtcdClientAuth) *EtcdClusterBuilder {
	e.made.Spec.TLS = &databasev1alpha1.EtcdTLS{SecretName: secret, ClientAuth: auth}
	return e
}

// Auth takes the applications' password from that Secret.
func (e *EtcdClusterBuilder) Auth(secret string) *EtcdClusterBuilder {
	e.made.Spec.Auth = &databasev1alpha1.EtcdAuth{SecretName: secret}
	return e
}

// Quota sets how much data a member stores.
func (e *EtcdClusterBuilder) Quota(quota string) *EtcdClusterBuilder {
	e.made.Spec.Quota = ptr.To(resource.MustParse(quota))
	return e
}

// With changes the spec.
func (e *EtcdClusterBuilder) With(change func(*databasev1alpha1.EtcdClusterSpec)) *EtcdClusterBuilder {
	change(&e.made.Spec)
	return e
}

// Build gives the object.
func (e *EtcdClusterBuilder) Build() *databasev1alpha1.EtcdCluster { return e.made.DeepCopy() }
