package children

import (
	"fmt"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// filesSecret holds what the servers read. That contains a password, so it is a Secret. The passwords in it that are not part of
// the files are not mounted: they are copies, so that losing one of two Secrets locks no one out.
func filesSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	return newSecret(in, in.Spec.FilesName(), corev1.SecretTypeOpaque, map[string]string{
		config.ConfKey: in.Spec.RedisConf(in.Credentials, in.Settings), config.UsersKey: config.UsersACL(in.Credentials),
		config.SettingsKey: in.Settings.Text(),
		wire.Operator:      in.Credentials.Operator, wire.Replication: in.Credentials.Replication, backup.RedisUser: in.Credentials.Backup})
}

// systemSecret holds the passwords that only the operator and the servers use, and until when former passwords
// of the applications are accepted.
func systemSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	values := map[string]string{wire.Operator: in.Credentials.Operator, wire.Replication: in.Credentials.Replication,
		backup.RedisUser: in.Credentials.Backup}
	if text := in.Credentials.FormerJSON(); text != "" {
		values[config.FormerKey] = text
	}
	if text := in.Credentials.RotationJSON(); text != "" {
		values[config.RotationKey] = text
	}
	return newSecret(in, in.Spec.SystemName(), corev1.SecretTypeOpaque, values)
}

// backupSecret holds what a backup needs to log in to the servers.
func backupSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	values := map[string]string{corev1.BasicAuthUsernameKey: backup.RedisUser, corev1.BasicAuthPasswordKey: in.Credentials.Backup,
		backup.SourceUIDKey: string(in.Redis.UID)}
	if in.Spec.TLS {
		values[pki.CACertKey] = string(in.Identity.Authorities)
	}
	return newSecret(in, backup.RedisSecretName(in.Redis.Name), corev1.SecretTypeBasicAuth, values)
}

// bindingSecret holds what an application needs, https://servicebinding.io/spec/core/1.1.0/#provisioned-service.
func bindingSecret(in Inputs) *corev1ac.SecretApplyConfiguration {
	host, published := in.Spec.ServiceHost(), in.Credentials.Published
	user := url.UserPassword(config.Application, published.Password)
	uri := url.URL{Scheme: "redis", Host: fmt.Sprintf("%s:%d", host, wire.Port), User: user}
	values := map[string]string{
		"type": "redis", "username": config.Application, "password": published.Password, "host": host, "port": strconv.Itoa(wire.Port)}
	if in.Spec.TLS {
		uri.Scheme = "rediss"
		values["ssl"], values[pki.CACertKey] = "true", string(in.Identity.Authorities)
	}
	values["uri"] = uri.String()
	made := newSecret(in, in.Spec.BindingName(), corev1.SecretTypeBasicAuth, values)
	if published.From != "" {
		made.WithAnnotations(map[string]string{config.AnnotationFrom: published.From})
	}
	return made
}

func newSecret(in Inputs, name string, of corev1.SecretType, values map[string]string) *corev1ac.SecretApplyConfiguration {
	data := make(map[string][]byte, len(values))
	for key, value := range values {
		data[key] = []byte(value)
	}
	return corev1ac.Secret(name, "").WithLabels(parts.Labels(config.AppName, in.Redis.Name)).WithType(of).WithData(data)
}
