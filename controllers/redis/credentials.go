package redis

import (
	"context"
	"crypto/rand"

	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// authField is the field of the spec, as messages name it.
const authField = passwords.SecretField

// readCredentials returns the credentials that this process knows, else those in our own Secrets,
// else random ones; with the applications' password that the user chose. If the user's Secret
// is of no use, that is reported and holds up nothing but the first start.
func (r *Reconciler) readCredentials(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec) (config.Credentials, error) {
	c, err := r.knownCredentials(ctx, redis, spec)
	if err != nil {
		return c, err
	}
	password, problem := "", ""
	if spec.AuthSecret != "" {
		password, problem, err = r.userPassword(ctx, redis, spec.AuthSecret)
	}
	c = c.StartRotation(spec.RotationRequest, rand.Text).ChooseLogin(spec.AuthSecret, password, rand.Text).DropExpired(r.clock.Now())
	c.Problem, c.Unread = problem, err != nil
	switch {
	case len(c.AcceptedDigests()) == 0 && err != nil:
		return c, err
	case len(c.AcceptedDigests()) == 0:
		return c, r.missingPasswordError(redis, problem)
	case err != nil: // what is known goes on
		log.FromContext(ctx).Error(err, authField)
	}
	r.memory.keepCredentials(redis, c)
	return c, nil
}

// missingPasswordError reports what is wrong with the Secret of a Redis that never had a password.
func (r *Reconciler) missingPasswordError(redis *cachev1alpha1.Redis, problem string) error {
	conditions.SetSecretUnusable(&redis.Status.Conditions, redis.Generation, commonv1.ConditionCredentialsInSync, authField, problem, "")
	return converge.Invalid(authField, "%s", problem)
}

// knownCredentials returns what the servers are believed to run with. An operator that was
// locked out by all of them reads the Secrets again: somebody may have restored one.
func (r *Reconciler) knownCredentials(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec) (config.Credentials, error) {
	c, known, lockedOut := r.memory.lastCredentials(redis)
	if known && !lockedOut {
		return c, nil
	}
	system, err := r.OwnSecret(ctx, redis, spec.SystemName())
	switch {
	case err != nil:
		return c, err
	case known:
		return c.RestoreFrom(*system), nil
	}
	binding, err := r.OwnSecret(ctx, redis, spec.BindingName())
	if err != nil {
		return c, err
	}
	files, err := r.OwnSecret(ctx, redis, spec.FilesName())
	if err != nil {
		return c, err
	}
	return config.CredentialsIn(*binding, *system, *files), nil
}

// userPassword returns the password in the user's Secret, or what is wrong with it. An
// error means that the Secret could not be read.
func (r *Reconciler) userPassword(ctx context.Context, redis *cachev1alpha1.Redis, name string) (password, problem string, err error) {
	data, err := r.Secrets.Data(ctx, redis, name)
	if err != nil {
		return "", "", err
	}
	password, problem = config.PasswordIn(name, data)
	return password, problem, nil
}
