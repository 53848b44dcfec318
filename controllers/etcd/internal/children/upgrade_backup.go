package children

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// UpgradeBackup is made before an upgrade, once, into the store of one by a schedule. Nothing of it is deleted there.
func UpgradeBackup(in Inputs, name string, like commonv1.BackupOptions) *databasev1alpha1.EtcdBackup {
	options := *like.DeepCopy()
	options.Schedule, options.TimeZone, options.StartingDeadline, options.Retention, options.Suspend = "", "", nil, nil, false
	return &databasev1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: in.Cluster.Namespace, Labels: parts.Labels(config.AppName, in.Cluster.Name),
			Annotations:     map[string]string{config.AnnotationData: in.Cluster.Status.Membership.Token},
			OwnerReferences: []metav1.OwnerReference{controllerOf(in)},
		},
		Spec: databasev1alpha1.EtcdBackupSpec{ClusterName: in.Cluster.Name, BackupOptions: options},
	}
}

// ReadBackup is what the plan for an EtcdCluster needs to know of an EtcdBackup in its namespace.
func ReadBackup(owner *databasev1alpha1.EtcdCluster, b *databasev1alpha1.EtcdBackup) membership.Backup {
	seen := membership.Backup{UID: b.UID, Name: b.Name, Own: metav1.IsControlledBy(b, owner), Token: b.Annotations[config.AnnotationData],
		Deleting: !b.DeletionTimestamp.IsZero(), Complete: meta.IsStatusConditionTrue(b.Status.Conditions, commonv1.ConditionComplete)}
	seen.Scheduled = b.Spec.ClusterName == owner.Name && b.Spec.Schedule != "" && !b.Spec.Suspend && !seen.Deleting
	for _, c := range b.Status.Conditions {
		switch {
		case c.Status != metav1.ConditionTrue:
		case c.Type == commonv1.ConditionDegraded: // also while it is tried again, and once it has failed
			seen.Problem = c.Message
		case c.Type == commonv1.ConditionProgressing, c.Type == commonv1.ConditionSuspended:
			seen.Progress = c.Message
		}
	}
	if seen.Progress == "" {
		seen.Progress = "it is about to start"
	}
	return seen
}

func controllerOf(in Inputs) metav1.OwnerReference {
	return *metav1.NewControllerRef(in.Cluster, databasev1alpha1.GroupVersion.WithKind("EtcdCluster"))
}
