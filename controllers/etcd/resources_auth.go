package etcd

import (
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
)

const (
	// tokenKeyFile is the key of Secrets with what tokens are signed with, and the file where a pod finds it.
	tokenKeyFile = "token.key"
	// tokensDir is where a pod finds it.
	tokensDir = "/etc/etcd/tokens"
	// annotationTokenKey tells of a pod which key its etcd has read. That is 256 random bits, of which a digest tells nothing.
	annotationTokenKey = "mainstay-operator.io/etcd-token-key"
	// tokenLife is for how long members' tokens are taken. Clients log in again by themselves.
	tokenLife = "5m"
)

func tokensName(e *databasev1alpha1.EtcdCluster) string { return e.Name + "-tokens" }

func backupName(e *databasev1alpha1.EtcdCluster) string { return backup.EtcdSecretName(e.Name) }

// systemSecret has what only the operator uses, and root's password for a human.
func systemSecret(e *databasev1alpha1.EtcdCluster, c childInputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(e, c.spec.SystemName(), map[string][]byte{wire.Root: []byte(c.logins.root), tokenKeyFile: []byte(c.logins.tokenKey)})
}

// tokensSecret is mounted into each pod.
func tokensSecret(e *databasev1alpha1.EtcdCluster, c childInputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(e, tokensName(e), map[string][]byte{tokenKeyFile: []byte(c.logins.tokenKey)})
}

// backupSecret has the user that takes snapshots.
func backupSecret(e *databasev1alpha1.EtcdCluster, c childInputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(e, backupName(e), map[string][]byte{
		corev1.BasicAuthUsernameKey: []byte(backupUser), corev1.BasicAuthPasswordKey: []byte(c.logins.backup)})
}

// authArguments are etcd's for logins. Tokens that any member can check are signed by a key that all have.
func authArguments(e *databasev1alpha1.EtcdCluster) []string {
	if e.Spec.Auth == nil {
		return nil
	}
	return []string{etcdtoken.Argument(tokensDir+"/"+tokenKeyFile, tokenLife)}
}

// withTokenKey mounts the key into a pod, and rolls it when it is to have another: etcd reads it when it starts.
func withTokenKey(e *databasev1alpha1.EtcdCluster, l logins, template *corev1ac.PodTemplateSpecApplyConfiguration) {
	sum := sha256.Sum256([]byte(l.tokenKey))
	template.WithAnnotations(map[string]string{annotationTokenKey: hex.EncodeToString(sum[:])[:16]})
	template.Spec.WithVolumes(corev1ac.Volume().WithName("tokens").WithSecret(corev1ac.SecretVolumeSource().
		WithSecretName(tokensName(e)).WithDefaultMode(0o440)))
	template.Spec.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName("tokens").WithMountPath(tokensDir).WithReadOnly(true))
}
