package children

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// ReadFetch is what the plan needs to know of the pod of a backup.
func ReadFetch(pod *corev1.Pod) membership.Fetch {
	version, _ := membership.ParseVersion(pod.Annotations[config.AnnotationLoads]) // of one without, no version is the one
	f := membership.Fetch{UID: pod.UID, For: types.UID(pod.Annotations[config.AnnotationSource]), Address: pod.Status.PodIP,
		Deleting: !pod.DeletionTimestamp.IsZero(), MaxMinor: version.Minor,
		Ended: pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded}
	for _, c := range pod.Status.InitContainerStatuses {
		ended := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
		if c.Name != backup.CommandFetch || ended == nil {
			continue
		}
		f.Attempts = c.RestartCount + 1
		switch result := backup.ReadFetch(*ended); {
		case ended.ExitCode == 0 && c.State.Terminated == nil: // it runs again, as the pod's sandbox was lost
		case result.Item != nil:
			f.Item, f.RawSize, f.RequiresLogin, f.Warning = restoredItem(result.Item), result.RawSize, result.RequiresLogin, result.Warning
		default:
			f.Error, f.Permanent, f.NodeFull, f.SizeWithoutRoom = result.Error, result.Permanent, result.NodeFull, result.RawSize
		}
	}
	return f
}

// restoredItem is what the status says of the backup that was fetched.
func restoredItem(item *commonv1.BackupItem) *databasev1alpha1.EtcdRestoredBackup {
	return &databasev1alpha1.EtcdRestoredBackup{Item: item.Name, SHA256: item.SHA256, Revision: item.Revision,
		ServerVersion: item.ServerVersion}
}
