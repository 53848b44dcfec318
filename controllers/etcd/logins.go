package etcd

import (
	"cmp"
	"context"
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
)

// readLogins returns what this process knows, else what is in our own Secrets, else random passwords and a random key; with the
// applications' password that the user chose. If the user's Secret is of no use, that is reported and holds up nothing but the first
// start.
func (o *object) readLogins(ctx context.Context) (l config.Logins, err error) {
	if o.cluster.Spec.Auth == nil {
		return l, nil
	}
	if l, err = o.ownLogins(ctx); err != nil {
		return l, err
	}
	data, err := o.Secrets.Data(ctx, o.cluster, o.cluster.Spec.Auth.SecretName)
	if err == nil {
		l.Chosen, l.Problem = passwords.FromSecret(o.cluster.Spec.Auth.SecretName, data, wire.MaxPasswordBytes)
	}
	switch isFirst := o.cluster.Status.Membership == nil; {
	case isFirst && err != nil:
		return l, err
	case isFirst && l.Problem != "":
		conditions.SetSecretUnusable(&o.cluster.Status.Conditions, o.cluster.Generation, commonv1.ConditionCredentialsInSync,
			passwords.SecretField, l.Problem, "")
		return l, converge.Invalid(passwords.SecretField, "%s", l.Problem)
	case err != nil: // what is known remains
		log.FromContext(ctx).Error(err, passwords.SecretField)
		l.IsUnread = true
	}
	o.known.logins = l
	return l, nil
}

// ownLogins are those that the operator keeps itself. The key is in two Secrets, so that the loss of one locks no one out. An
// operator that is locked out reads the Secrets again: what a human has restored is not overwritten by what was made in its place.
func (o *object) ownLogins(ctx context.Context) (l config.Logins, err error) {
	if l.Published, err = o.publishedLogin(ctx); err != nil {
		return l, err
	}
	last, isLockedOut := o.known.logins, o.known.members.IsLockedOut()
	if last.TokenKey != "" && !isLockedOut {
		l.TokenKey, l.Root, l.Backup = last.TokenKey, last.Root, last.Backup
		return l, nil
	}
	data := map[string]map[string][]byte{}
	for _, name := range []string{o.spec.SystemName(), o.spec.TokensName(), o.spec.BackupName()} {
		secret, err := o.OwnSecret(ctx, o.cluster, name)
		if err != nil {
			return l, err
		}
		data[name] = secret.Data
	}
	system := data[o.spec.SystemName()]
	l.TokenKey = cmp.Or(string(system[config.TokenKeyFile]), string(data[o.spec.TokensName()][config.TokenKeyFile]), last.TokenKey,
		rand.Text()+rand.Text())
	l.Root = cmp.Or(string(system[wire.Root]), last.Root, rand.Text())
	l.Backup = cmp.Or(string(data[o.spec.BackupName()][corev1.BasicAuthPasswordKey]), last.Backup, rand.Text())
	return l, nil
}

// publishedLogin is what applications read in <name>-binding; empty if there is nothing. A user is recorded before it comes there.
func (o *object) publishedLogin(ctx context.Context) (config.Login, error) {
	if o.cluster.Status.Login == nil || o.cluster.Status.Login.User == "" {
		return config.Login{}, nil
	}
	binding, err := o.OwnSecret(ctx, o.cluster, o.spec.BindingName())
	if err == nil && string(binding.Data[corev1.BasicAuthUsernameKey]) != o.cluster.Status.Login.User { // the cache may be behind
		binding, err = o.LiveOwnSecret(ctx, o.cluster, o.spec.BindingName())
	}
	if err != nil {
		return config.Login{}, err
	}
	return config.Login{User: string(binding.Data[corev1.BasicAuthUsernameKey]), Password: string(binding.Data[corev1.BasicAuthPasswordKey])},
		nil
}
