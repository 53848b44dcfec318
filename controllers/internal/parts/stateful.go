package parts

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// AnnotationRestartedAt is what kubectl rollout restart writes into a pod template.
const AnnotationRestartedAt = "kubectl.kubernetes.io/restartedAt"

// WithRestartedAt copies the time of the last `kubectl rollout restart` into the template. It is "" if there was none. A StatefulSet
// that is recreated would forget it, and all its pods would look outdated.
func WithRestartedAt(template *corev1ac.PodTemplateSpecApplyConfiguration, restartedAt string) *corev1ac.PodTemplateSpecApplyConfiguration {
	if restartedAt == "" {
		return template
	}
	return template.WithAnnotations(map[string]string{AnnotationRestartedAt: restartedAt})
}

// ClaimTemplate returns the template of the claims of one volume, which one pod at a time writes. Without a class it is of the
// cluster's default class.
func ClaimTemplate(appName, instance, volume string, size resource.Quantity,
	class *string) *corev1ac.PersistentVolumeClaimApplyConfiguration {
	spec := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: size}))
	if class != nil {
		spec.WithStorageClassName(*class)
	}
	claim := corev1ac.PersistentVolumeClaim(volume, "").WithLabels(Labels(appName, instance)).WithSpec(spec)
	claim.APIVersion, claim.Kind = nil, nil // the server does not keep them within another object
	return claim
}
