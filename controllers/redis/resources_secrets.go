package redis

import (
	"fmt"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// filesSecret holds what the servers read. That contains a password, so it is a Secret. The passwords beside the
// files are not mounted: they are copies, so that losing one of two Secrets locks nobody out.
func filesSecret(r *cachev1alpha1.Redis, c childInputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(r, c.spec.FilesName(), corev1.SecretTypeOpaque, map[string]string{
		config.ConfKey: c.spec.RedisConf(c.credentials, c.settings), config.UsersKey: config.UsersACL(c.credentials), config.SettingsKey: c.settings.Text(),
		wire.Operator: c.credentials.Operator, wire.Replication: c.credentials.Replication, backup.RedisUser: c.credentials.Backup})
}

// systemSecret holds the passwords that only the operator and the servers use, and until when former passwords
// of the applications are accepted.
func systemSecret(r *cachev1alpha1.Redis, c childInputs) *corev1ac.SecretApplyConfiguration {
	values := map[string]string{wire.Operator: c.credentials.Operator, wire.Replication: c.credentials.Replication, backup.RedisUser: c.credentials.Backup}
	if text := c.credentials.RetiredJSON(); text != "" {
		values[config.RetiredKey] = text
	}
	if text := c.credentials.RotationJSON(); text != "" {
		values[config.RotationKey] = text
	}
	return newSecret(r, c.spec.SystemName(), corev1.SecretTypeOpaque, values)
}

// backupSecret holds what a backup needs to log in to the servers.
func backupSecret(r *cachev1alpha1.Redis, c childInputs) *corev1ac.SecretApplyConfiguration {
	values := map[string]string{corev1.BasicAuthUsernameKey: backup.RedisUser, corev1.BasicAuthPasswordKey: c.credentials.Backup,
		backup.SourceUIDKey: string(r.UID)}
	if c.spec.TLS {
		values[pki.CACertKey] = string(c.identity.Authorities)
	}
	return newSecret(r, backup.RedisSecretName(r.Name), corev1.SecretTypeBasicAuth, values)
}

// bindingSecret holds what an application needs, https://servicebinding.io/spec/core/1.1.0/#provisioned-service.
func bindingSecret(r *cachev1alpha1.Redis, c childInputs) *corev1ac.SecretApplyConfiguration {
	host, told := c.spec.ServiceHost(), c.credentials.Published
	uri := url.URL{Scheme: "redis", Host: fmt.Sprintf("%s:%d", host, wire.Port), User: url.UserPassword(config.Application, told.Password)}
	values := map[string]string{
		"type": "redis", "username": config.Application, "password": told.Password, "host": host, "port": strconv.Itoa(wire.Port)}
	if c.spec.TLS {
		uri.Scheme = "rediss"
		values["ssl"], values[pki.CACertKey] = "true", string(c.identity.Authorities)
	}
	values["uri"] = uri.String()
	made := newSecret(r, c.spec.BindingName(), corev1.SecretTypeBasicAuth, values)
	if told.From != "" {
		made.WithAnnotations(map[string]string{config.AnnotationFrom: told.From})
	}
	return made
}

func newSecret(r *cachev1alpha1.Redis, name string, of corev1.SecretType, values map[string]string) *corev1ac.SecretApplyConfiguration {
	data := make(map[string][]byte, len(values))
	for key, value := range values {
		data[key] = []byte(value)
	}
	return corev1ac.Secret(name, "").WithLabels(parts.Labels(appName, r.Name)).WithType(of).WithData(data)
}
