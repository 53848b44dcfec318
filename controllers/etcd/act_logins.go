package etcd

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
)

// readLogins returns what this process knows, else what is in our own Secrets, else random passwords and a random key; with the
// applications' password that the user chose. If the user's Secret is of no use, that is reported and holds up nothing but the first
// start.
func (r *Reconciler) readLogins(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec) (l config.Logins, err error) {
	if e.Spec.Auth == nil {
		return l, nil
	}
	if l, err = r.ownLogins(ctx, e, spec); err != nil {
		return l, err
	}
	data, err := r.Secrets.Data(ctx, e, e.Spec.Auth.SecretName)
	if err == nil {
		l.Chosen, l.Problem = passwords.FromSecret(e.Spec.Auth.SecretName, data, wire.MaxPasswordBytes)
	}
	switch isFirst := e.Status.Membership == nil; {
	case isFirst && err != nil:
		return l, err
	case isFirst && l.Problem != "":
		conditions.SetSecretUnusable(&e.Status.Conditions, e.Generation, commonv1.ConditionCredentialsInSync,
			passwords.SecretField, l.Problem, "")
		return l, converge.Invalid(passwords.SecretField, "%s", l.Problem)
	case err != nil: // what is known goes on
		log.FromContext(ctx).Error(err, passwords.SecretField)
		l.IsUnread = true
	}
	r.memory.noteLogins(e, l)
	return l, nil
}

// ownLogins are those that the operator keeps itself. The key stands in two Secrets, so that the loss of one locks nobody out. An
// operator that is locked out reads the Secrets again: what a human has restored is not overwritten by what was made in its place.
func (r *Reconciler) ownLogins(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec) (l config.Logins, err error) {
	if l.Published, err = r.publishedLogin(ctx, e, spec); err != nil {
		return l, err
	}
	last, isLockedOut := r.memory.lastLogins(e)
	if last.TokenKey != "" && !isLockedOut {
		l.TokenKey, l.Root, l.Backup = last.TokenKey, last.Root, last.Backup
		return l, nil
	}
	data := map[string]map[string][]byte{}
	for _, name := range []string{spec.SystemName(), spec.TokensName(), spec.BackupName()} {
		secret, err := r.OwnSecret(ctx, e, name)
		if err != nil {
			return l, err
		}
		data[name] = secret.Data
	}
	system := data[spec.SystemName()]
	l.TokenKey = cmp.Or(string(system[config.TokenKeyFile]), string(data[spec.TokensName()][config.TokenKeyFile]), last.TokenKey, rand.Text()+rand.Text())
	l.Root = cmp.Or(string(system[wire.Root]), last.Root, rand.Text())
	l.Backup = cmp.Or(string(data[spec.BackupName()][corev1.BasicAuthPasswordKey]), last.Backup, rand.Text())
	return l, nil
}

// publishedLogin is what applications read in <name>-binding; empty if there is nothing. A user is on record before it comes there.
func (r *Reconciler) publishedLogin(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec) (config.Login, error) {
	if e.Status.Login == nil || e.Status.Login.User == "" {
		return config.Login{}, nil
	}
	binding, err := r.OwnSecret(ctx, e, spec.BindingName())
	if err == nil && string(binding.Data[corev1.BasicAuthUsernameKey]) != e.Status.Login.User { // the cache may be behind
		binding, err = r.LiveOwnSecret(ctx, e, spec.BindingName())
	}
	if err != nil {
		return config.Login{}, err
	}
	return config.Login{User: string(binding.Data[corev1.BasicAuthUsernameKey]), Password: string(binding.Data[corev1.BasicAuthPasswordKey])}, nil
}

// lastLogins are those that this process read or made last, and whether etcd did not take the token then.
func (m *memory) lastLogins(e *databasev1alpha1.EtcdCluster) (last config.Logins, isLockedOut bool) {
	known, unlock := m.Lock(e)
	defer unlock()
	return known.logins, known.isLockedOut
}

func (m *memory) noteLogins(e *databasev1alpha1.EtcdCluster, l config.Logins) {
	known, unlock := m.Lock(e)
	defer unlock()
	known.logins = l
}

// accessSeen is when etcd was last seen to let in who may.
func (m *memory) accessSeen(e *databasev1alpha1.EtcdCluster) time.Time {
	known, unlock := m.Lock(e)
	defer unlock()
	return known.access
}

// noteAccess notes what a pass saw of who may log in, the operator among them.
func (m *memory) noteAccess(e *databasev1alpha1.EtcdCluster, w membership.World, now time.Time) {
	known, unlock := m.Lock(e)
	defer unlock()
	if w.Access.IsRight() {
		known.access = now
	}
	known.isLockedOut = w.Access.LockedOut || len(w.Where(func(m membership.Member) bool { return m.View.LockedOut })) > 0
}
