package etcd

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/runnerpod"
)

const (
	// fetchName is the value of app.kubernetes.io/name on the pod of a backup: no Service and no budget of the members selects it.
	fetchName = "etcd-restore"
	// annotationLoads is the version that is to load the backup which the pod fetches.
	annotationLoads = "mainstay-operator.io/etcd-restore-version"
	// annotationSource is the UID of the EtcdRestore that asks for the backup which the pod fetches; empty for spec.bootstrap.
	annotationSource = "mainstay-operator.io/etcd-restore-source"
	// peersVolume has the certificates of the members in the pod of a backup.
	peersVolume = "peers"
)

// fetchPodName is the name of the pod that has the backup of spec.bootstrap, or of that EtcdRestore.
func fetchPodName(e *databasev1alpha1.EtcdCluster, source types.UID) string {
	if source == "" {
		return e.Name + "-restore"
	}
	sum := sha256.Sum256([]byte(source))
	return e.Name + "-restore-" + hex.EncodeToString(sum[:4])
}

// upgradeBackup is made before an upgrade, once, into the store of one by a schedule. Nothing of it is deleted there.
func upgradeBackup(e *databasev1alpha1.EtcdCluster, name string, like commonv1.BackupOptions) *databasev1alpha1.EtcdBackup {
	options := *like.DeepCopy()
	options.Schedule, options.TimeZone, options.StartingDeadline, options.Retention, options.Suspend = "", "", nil, nil, false
	return &databasev1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: e.Namespace, Labels: parts.Labels(appName, e.Name),
			Annotations:     map[string]string{annotationData: e.Status.Membership.Token},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(e, databasev1alpha1.GroupVersion.WithKind("EtcdCluster"))},
		},
		Spec: databasev1alpha1.EtcdBackupSpec{ClusterName: e.Name, BackupOptions: options},
	}
}

// referenceOf is where that source has its backup.
func referenceOf(e *databasev1alpha1.EtcdCluster, s membership.Situation, source types.UID) *commonv1.BackupReference {
	if source == "" && e.Spec.Bootstrap != nil {
		return &e.Spec.Bootstrap.Backup
	}
	return s.ReferenceOf(source)
}

// fetchChildren are the children that the pod of a backup needs.
func fetchChildren(e *databasev1alpha1.EtcdCluster, c childInputs) []converge.Child {
	return []converge.Child{authoritySecret(e, c.peers), peersSecret(e, c.peers)}
}

// fetchPod fetches the backup, then hands it to members. The kubelet starts it again for as long as that fails.
func fetchPod(e *databasev1alpha1.EtcdCluster, s membership.Situation, source types.UID, from commonv1.BackupReference, image string) *corev1.Pod {
	task := backup.FetchTask(backup.Etcd, from, e.Namespace, s.BackupToFetch(source), s.LoadingVersion(source).String())
	options := commonv1.PodOptions{Scheduling: e.Spec.Scheduling, ImagePullSecrets: e.Spec.ImagePullSecrets}
	options.TopologySpreadConstraints = nil // it is alone
	spec := parts.PodSpec(fetchName, e.Name, options).
		WithSecurityContext(parts.RestrictedPod(runnerpod.UID)).
		WithInitContainers(runnerpod.WithStore(runnerpod.Runner(backup.CommandFetch, image, task, corev1.ResourceRequirements{}), from.Store)).
		WithContainers(runnerpod.Runner(backup.CommandServe, image, task, corev1.ResourceRequirements{}).
			WithPorts(corev1ac.ContainerPort().WithName("backup").WithContainerPort(backup.ServePort).WithProtocol(corev1.ProtocolTCP)).
			WithVolumeMounts(corev1ac.VolumeMount().WithName(peersVolume).WithMountPath(backup.PeersDir).WithReadOnly(true))).
		WithVolumes(runnerpod.Volumes(from.Store)...).
		WithVolumes(runnerpod.SecretVolume(peersVolume, peersName(e), []string{"ca.crt", corev1.TLSCertKey, corev1.TLSPrivateKeyKey}))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fetchPodName(e, source), Namespace: e.Namespace, Labels: parts.Labels(fetchName, e.Name),
			Annotations:     map[string]string{annotationLoads: s.LoadingVersion(source).String(), annotationSource: string(source)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(e, databasev1alpha1.GroupVersion.WithKind("EtcdCluster"))},
		},
		Spec: *parts.ToApplyConfig[corev1.PodSpec](spec),
	}
}

// allPods are those of the members and of backups.
func (in *inputs) allPods() []corev1.Pod {
	return slices.Concat(in.fetches, in.pods)
}
