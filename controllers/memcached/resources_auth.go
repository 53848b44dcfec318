package memcached

import (
	"path"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

const (
	usersDir = "/etc/memcached-users"
	// annotationUsers rolls the pods: memcached reads its users when it starts, and again only on a signal that
	// no process outside of the pod can send.
	annotationUsers = "mainstay-operator.io/users"
)

func authName(m *cachev1alpha1.Memcached) string { return m.Name + "-auth" }

// authSecret holds the file of users that the nodes read.
func authSecret(m *cachev1alpha1.Memcached, k userList) *corev1ac.SecretApplyConfiguration {
	return secret(m, authName(m), map[string][]byte{
		usersKey:    []byte(usersFile(k.lines)),
		revisionKey: []byte(strconv.Itoa(k.revision)),
	})
}

func secret(m *cachev1alpha1.Memcached, name string, data map[string][]byte) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(name, "").WithLabels(parts.Labels(appName, m.Name)).WithType(corev1.SecretTypeOpaque).WithData(data)
}

func authArguments(m *cachev1alpha1.Memcached) []string {
	if m.Spec.Auth == nil {
		return nil
	}
	return []string{"-Y", path.Join(usersDir, usersKey)}
}

// withUsers mounts the users into a pod, and rolls it when they change.
func withUsers(m *cachev1alpha1.Memcached, k userList, template *corev1ac.PodTemplateSpecApplyConfiguration) {
	template.WithAnnotations(map[string]string{annotationUsers: strconv.Itoa(k.revision)})
	mountSecret(template, "users", authName(m), usersDir)
}

// mountSecret mounts one of our Secrets into the nodes.
func mountSecret(template *corev1ac.PodTemplateSpecApplyConfiguration, volume, secretName, at string) {
	template.Spec.WithVolumes(corev1ac.Volume().WithName(volume).WithSecret(corev1ac.SecretVolumeSource().
		WithSecretName(secretName).WithDefaultMode(0o440)))
	template.Spec.Containers[0].WithVolumeMounts(
		corev1ac.VolumeMount().WithName(volume).WithMountPath(at).WithReadOnly(true))
}
