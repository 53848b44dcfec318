package builders

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// EtcdBackupBuilder makes an EtcdBackup.
type EtcdBackupBuilder struct{ made databasev1alpha1.EtcdBackup }

// EtcdBackup starts one of that EtcdCluster, which is made once, now.
func EtcdBackup(name, cluster string, store commonv1.BackupStore) *EtcdBackupBuilder {
	b := databasev1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: databasev1alpha1.EtcdBackupSpec{ClusterName: cluster}}
	b.Spec.Store = store
	return &EtcdBackupBuilder{b}
}

// In puts it into a namespace.
func (e *EtcdBackupBuilder) In(namespace string) *EtcdBackupBuilder {
	e.made.Namespace = namespace
	return e
}

// With changes anything else.
func (e *EtcdBackupBuilder) With(change func(*databasev1alpha1.EtcdBackupSpec)) *EtcdBackupBuilder {
	change(&e.made.Spec)
	return e
}

// Build gives the object.
func (e *EtcdBackupBuilder) Build() *databasev1alpha1.EtcdBackup { return e.made.DeepCopy() }
