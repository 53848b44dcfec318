package children

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// annotationTokenKey shows on a pod which key its etcd has read. That is 256 random bits, of which a digest reveals nothing.
const annotationTokenKey = "mainstay-operator.io/etcd-token-key"

// authoritySecret keeps the authority's key. No pod mounts it.
func authoritySecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(in, in.Spec.AuthorityName(), in.Peers.AuthorityData())
}

// peersSecret is mounted into each pod.
func peersSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(in, in.Spec.PeersName(), in.Peers.PeersData())
}

// certificatesSecret is a copy of the user's Secret, made when that is found fit: what happens to the original stops no member
// from starting.
func certificatesSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(in, in.Spec.CertificatesName(), in.Identity.Data())
}

// systemSecret has what only the operator uses, and root's password for a human.
func systemSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(in, in.Spec.SystemName(), map[string][]byte{
		wire.Root: []byte(in.Logins.Root), config.TokenKeyFile: []byte(in.Logins.TokenKey)})
}

// tokensSecret is mounted into each pod.
func tokensSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(in, in.Spec.TokensName(), map[string][]byte{config.TokenKeyFile: []byte(in.Logins.TokenKey)})
}

// backupSecret has the user that takes snapshots.
func backupSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(in, in.Spec.BackupName(), map[string][]byte{
		corev1.BasicAuthUsernameKey: []byte(membership.BackupUser), corev1.BasicAuthPasswordKey: []byte(in.Logins.Backup)})
}

// bindingSecret holds what a client needs, https://servicebinding.io/spec/core/1.1.0/#provisioned-service. A client that knows all
// voters waits less when one of them ends than one that knows the Service alone; a learner would refuse it.
func bindingSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	var endpoints []string
	for _, name := range recordedVoters(in) {
		endpoints = append(endpoints, in.Spec.ClientURL(in.Spec.Host(name)))
	}
	data := map[string][]byte{
		"type": []byte("etcd"), "host": []byte(in.Spec.ServiceHost()), "port": []byte(strconv.Itoa(wire.ClientPort)),
		"uri": []byte(in.Spec.ClientURL(in.Spec.ServiceHost())), "endpoints": []byte(strings.Join(endpoints, ","))}
	if in.Spec.TLS != nil {
		data["ssl"], data[pki.CACertKey] = []byte("true"), in.Identity.Authorities
	}
	if in.Spec.RequiresLogin {
		data[corev1.BasicAuthUsernameKey] = []byte(in.Logins.Published.User)
		data[corev1.BasicAuthPasswordKey] = []byte(in.Logins.Published.Password)
	}
	return newSecret(in, in.Spec.BindingName(), data)
}

func newSecret(in Inputs, name string, data map[string][]byte) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(name, "").WithLabels(parts.Labels(config.AppName, in.Cluster.Name)).WithType(corev1.SecretTypeOpaque).WithData(data)
}

// mountCertificates mounts the certificate into a pod, and rolls it when it is to accept those of other authorities from clients.
func mountCertificates(in Inputs, template *corev1ac.PodTemplateSpecApplyConfiguration) {
	if names := config.ClientAuthorities(in.Spec, in.Identity); names != "" {
		template.WithAnnotations(map[string]string{config.AnnotationClientAuthorities: names})
	}
	template.Spec.WithVolumes(corev1ac.Volume().WithName("certificates").WithSecret(corev1ac.SecretVolumeSource().
		WithSecretName(in.Spec.CertificatesName()).WithDefaultMode(0o440)))
	template.Spec.Containers[0].WithVolumeMounts(
		corev1ac.VolumeMount().WithName("certificates").WithMountPath(certificatesDir).WithReadOnly(true))
}

// mountTokenKey mounts the key into a pod, and rolls it when it is to have another: etcd reads it when it starts.
func mountTokenKey(in Inputs, template *corev1ac.PodTemplateSpecApplyConfiguration) {
	sum := sha256.Sum256([]byte(in.Logins.TokenKey))
	template.WithAnnotations(map[string]string{annotationTokenKey: hex.EncodeToString(sum[:])[:16]})
	template.Spec.WithVolumes(corev1ac.Volume().WithName("tokens").WithSecret(corev1ac.SecretVolumeSource().
		WithSecretName(in.Spec.TokensName()).WithDefaultMode(0o440)))
	template.Spec.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName("tokens").WithMountPath(tokensDir).WithReadOnly(true))
}
