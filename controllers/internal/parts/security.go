package parts

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// RestrictedPod meets the Restricted pod security standard; files of volumes
// belong to the group. https://kubernetes.io/docs/concepts/security/pod-security-standards/
func RestrictedPod(uid int64) *corev1ac.PodSecurityContextApplyConfiguration {
	return BaselinePod().WithRunAsNonRoot(true).WithRunAsUser(uid).WithRunAsGroup(uid).WithFSGroup(uid).
		WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch)
}

// RestrictedContainer drops every capability and makes the root file system read-only.
func RestrictedContainer() *corev1ac.SecurityContextApplyConfiguration {
	return BaselineContainer().
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// BaselinePod runs as the image's user under the runtime's seccomp profile.
func BaselinePod() *corev1ac.PodSecurityContextApplyConfiguration {
	return corev1ac.PodSecurityContext().
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
}

// BaselineContainer cannot gain privileges.
func BaselineContainer() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().WithAllowPrivilegeEscalation(false)
}
