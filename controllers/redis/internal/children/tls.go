package children

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// certificatesSecret is a copy of the user's Secret, made when that is found fit: what happens to the original
// stops no server from starting.
func certificatesSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(in, in.Spec.CertificatesName(), corev1.SecretTypeOpaque, config.IdentityData(in.Identity))
}

// addTLSVolumes gives a pod the certificates, and a place for the probes' socket.
func addTLSVolumes(spec config.Spec, pod *corev1ac.PodSpecApplyConfiguration) {
	pod.WithVolumes(
		corev1ac.Volume().WithName("certificates").WithSecret(corev1ac.SecretVolumeSource().
			WithSecretName(spec.CertificatesName()).WithDefaultMode(0o440)),
		corev1ac.Volume().WithName("run").WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithMedium(corev1.StorageMediumMemory)))
	pod.Containers[0].WithVolumeMounts(
		corev1ac.VolumeMount().WithName("certificates").WithMountPath(config.CertificatesDir).WithReadOnly(true),
		corev1ac.VolumeMount().WithName("run").WithMountPath(config.SocketDir))
}
