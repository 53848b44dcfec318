package redis

import (
	"context"

	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// secrets are what the operator needs to speak with the servers, and what those start with.
type secrets struct {
	credentials  config.Credentials
	certificates config.Certificates
	settings     config.Settings
}

func (r *Reconciler) readSecrets(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec) (secrets, error) {
	keys, err := r.readCredentials(ctx, redis, spec)
	if err != nil {
		return secrets{}, err
	}
	certificates, err := r.readCertificates(ctx, redis, spec)
	if err != nil {
		return secrets{certificates: certificates}, err
	}
	settings, err := r.readSettings(ctx, redis, spec)
	return secrets{keys, certificates, settings}, err
}

// secretNames returns the names of the user's Secrets that an object refers to.
func secretNames(redis ctrlclient.Object) []string {
	var names []string
	if auth := redis.(*cachev1alpha1.Redis).Spec.Auth; auth != nil {
		names = append(names, auth.SecretName)
	}
	if over := redis.(*cachev1alpha1.Redis).Spec.TLS; over != nil {
		names = append(names, over.SecretName)
	}
	return names
}
