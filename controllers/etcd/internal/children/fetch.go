package children

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/runnerpod"
)

// peersVolume has the certificates of the members in the pod of a backup.
const peersVolume = "peers"

// FetchPod fetches the backup, then hands it to members. The kubelet restarts it while that fails. It is nil if that source has no backup
// any more.
func FetchPod(in Inputs, s membership.Situation, source types.UID, image string) *corev1.Pod {
	from := referenceOf(in, s, source)
	if from == nil {
		return nil
	}
	task := backup.FetchTask(backup.Etcd, *from, in.Cluster.Namespace, s.BackupToFetch(source), s.LoadingVersion(source).String())
	options := commonv1.PodOptions{Scheduling: in.Cluster.Spec.Scheduling, ImagePullSecrets: in.Cluster.Spec.ImagePullSecrets}
	options.TopologySpreadConstraints = nil // it is alone
	spec := parts.PodSpec(config.FetchAppName, in.Cluster.Name, options).
		WithSecurityContext(parts.RestrictedPod(runnerpod.UID)).
		WithInitContainers(runnerpod.WithStoreToRead(
			runnerpod.Runner(backup.CommandFetch, image, task, runnerpod.RequestScratch(corev1.ResourceRequirements{},
				backup.ScratchRequest(backup.Etcd, in.BackupSize, false))), from.Store)).
		WithContainers(runnerpod.Runner(backup.CommandServe, image, task, corev1.ResourceRequirements{}).
			WithPorts(corev1ac.ContainerPort().WithName("backup").WithContainerPort(backup.ServePort).WithProtocol(corev1.ProtocolTCP)).
			WithVolumeMounts(corev1ac.VolumeMount().WithName(peersVolume).WithMountPath(backup.PeersDir).WithReadOnly(true))).
		WithVolumes(runnerpod.Volumes(from.Store, task.Scratch)...).
		WithVolumes(runnerpod.SecretVolume(peersVolume, in.Spec.PeersName(), []string{"ca.crt", corev1.TLSCertKey, corev1.TLSPrivateKeyKey}))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: in.Spec.FetchPodName(source), Namespace: in.Cluster.Namespace, Labels: parts.Labels(config.FetchAppName, in.Cluster.Name),
			Annotations:     map[string]string{config.AnnotationLoads: s.LoadingVersion(source).String(), config.AnnotationSource: string(source)},
			OwnerReferences: []metav1.OwnerReference{controllerOf(in)},
		},
		Spec: *parts.ToApplyConfig[corev1.PodSpec](spec),
	}
}

// referenceOf is where that source has its backup.
func referenceOf(in Inputs, s membership.Situation, source types.UID) *commonv1.BackupReference {
	if source == "" && in.Cluster.Spec.Bootstrap != nil {
		return &in.Cluster.Spec.Bootstrap.Backup
	}
	return s.ReferenceOf(source)
}
