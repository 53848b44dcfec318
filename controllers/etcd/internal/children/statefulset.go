package children

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

const (
	// clientPort, peerPort and metricsPort name the ports in pods and Services.
	clientPort, peerPort, metricsPort = "client", "peer", "metrics"
	// etcdUID is the UID that etcd runs as: any will do, as the official image brings no user.
	etcdUID = 65532
)

// statefulSet leaves it to the plan when pods restart (OnDelete): one at a time, and the leader is moved before.
func statefulSet(in Inputs) *appsv1ac.StatefulSetApplyConfiguration {
	template := parts.WithRestartedAt(parts.PodTemplate(config.AppName, in.Cluster.Name, in.Cluster.Spec.PodOptions), in.RestartedAt).
		WithAnnotations(in.Peers.TrustAnnotation())
	parts.MarkDefaults(template, in.Defaults)
	template.Spec.
		WithSecurityContext(parts.RestrictedPod(etcdUID)).
		WithInitContainers(launcherInstaller(in)).
		WithContainers(container(in)).
		WithVolumes(
			corev1ac.Volume().WithName("program").WithEmptyDir(corev1ac.EmptyDirVolumeSource()),
			corev1ac.Volume().WithName("permit").WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().WithItems(corev1ac.DownwardAPIVolumeFile().
				WithPath(launcher.PermitFile).
				WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.annotations['"+config.AnnotationPermit+"']")))),
			corev1ac.Volume().WithName("peers").WithSecret(corev1ac.SecretVolumeSource().WithSecretName(in.Spec.PeersName()).WithDefaultMode(0o440)))
	if in.Spec.TLS != nil {
		mountCertificates(in, template)
	}
	if in.Spec.RequiresLogin {
		mountTokenKey(in, template)
	}
	spec := appsv1ac.StatefulSetSpec().
		WithReplicas(in.Pods).
		WithServiceName(in.Spec.HeadlessName()).
		WithPodManagementPolicy(appsv1.ParallelPodManagement).
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
		WithSelector(parts.LabelSelector(config.AppName, in.Cluster.Name)).
		WithTemplate(template)
	if in.Cluster.Spec.Storage == nil {
		template.Spec.WithVolumes(dataOnNode(in))
	} else {
		claim := parts.ClaimTemplate(config.AppName, in.Cluster.Name, config.DataVolume, in.Spec.VolumeSize,
			in.Cluster.Spec.Storage.StorageClassName)
		spec.WithVolumeClaimTemplates(claim).WithPersistentVolumeClaimRetentionPolicy(volumes.RetentionPolicy())
	}
	return appsv1ac.StatefulSet(in.Cluster.Name, "").WithLabels(parts.Labels(config.AppName, in.Cluster.Name)).WithSpec(spec)
}

// ChooseDefaults returns the defaults that restart no pod of the live workload.
func ChooseDefaults(in Inputs, live converge.Workload) parts.Defaults {
	return converge.ChooseDefaults(live, func(d parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
		in.Defaults = d
		return statefulSet(in).Spec.Template
	})
}
