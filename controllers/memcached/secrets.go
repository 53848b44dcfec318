package memcached

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// These are fields of the spec, as messages name them.
const (
	tlsField  = converge.TLSSecretField
	authField = "auth.secretName"
)

// secrets is what the nodes are given.
type secrets struct {
	certificate certificate
	users       userRotation
}

// readSecrets reads what the nodes need to start. It comes first: without that, no pod is made.
func (r *Reconciler) readSecrets(ctx context.Context, m *cachev1alpha1.Memcached, set *appsv1.StatefulSet) (secrets, error) {
	before, err := r.readPublished(ctx, m)
	if err != nil {
		return secrets{}, err
	}
	c, err := r.readCertificate(ctx, m, before.identity)
	u, usersErr := r.readUsers(ctx, m, before.users, set)
	if !m.Spec.Paused {
		r.memory.setPublished(m, publishedSecrets{c.Identity, u.published})
	}
	return secrets{c, u}, errors.Join(err, usersErr)
}

// readPublished returns what the nodes were given before: as this process remembers, or as our own Secrets say.
func (r *Reconciler) readPublished(ctx context.Context, m *cachev1alpha1.Memcached) (publishedSecrets, error) {
	gave := r.memory.published(m)
	if m.Spec.TLS != nil && gave.identity.IsEmpty() {
		own, err := r.OwnSecret(ctx, m, certificatesName(m))
		if err != nil {
			return gave, err
		}
		gave.identity = pki.PublishedIn(own.Data)
	}
	if m.Spec.Auth != nil && len(gave.users.lines) == 0 {
		own, err := r.OwnSecret(ctx, m, authName(m))
		if err != nil {
			return gave, err
		}
		gave.users = publishedUsers(own.Data)
	}
	return gave, nil
}

// isIncomplete reports whether something is missing that nodes need to start.
func (s secrets) isIncomplete(m *cachev1alpha1.Memcached) bool {
	return m.Spec.TLS != nil && s.certificate.IsEmpty() || m.Spec.Auth != nil && len(s.users.published.lines) == 0
}

// certificate is what the nodes serve. It is a copy of the user's Secret, made when that is found valid: what happens
// to the Secret later stops no node from starting.
type certificate struct {
	pki.Identity
	problem      string        // what is wrong with the user's Secret
	recheckAfter time.Duration // how soon to look at the Secret again; 0 is never
}

// readCertificate returns the user's certificate, else the one before. Without either it returns an error.
func (r *Reconciler) readCertificate(ctx context.Context, m *cachev1alpha1.Memcached, before pki.Identity) (certificate, error) {
	if m.Spec.TLS == nil {
		return certificate{}, nil
	}
	now := r.clock.Now()
	found, problem, recheckAfter, err := r.Secrets.Judge(ctx, m, m.Spec.TLS.SecretName, func(data map[string][]byte) (pki.Identity, string) {
		asClient := m.Spec.TLS.ClientAuth == cachev1alpha1.MemcachedClientAuthRequire
		return pki.FromSecret(m.Spec.TLS.SecretName, data, []string{serviceHost(m)}, asClient, now)
	}, now)
	if err != nil {
		return certificate{Identity: before}, err
	}
	switch {
	case problem == "":
		before = found
	case before.IsEmpty():
		err = converge.Invalid(tlsField, "%s", problem)
	}
	return certificate{before, problem, recheckAfter}, err
}

// readUsers returns the users of the user's Secret, and those before while a node may know no others.
func (r *Reconciler) readUsers(ctx context.Context, m *cachev1alpha1.Memcached, before userList, set *appsv1.StatefulSet) (userRotation,
	error) {
	u := userRotation{published: before}
	if m.Spec.Auth == nil {
		return userRotation{}, nil
	}
	data, err := r.Secrets.Data(ctx, m, m.Spec.Auth.SecretName)
	if err != nil {
		return u, err
	}
	u.wanted, u.problem = requestedUsers(m.Spec.Auth.SecretName, data)
	switch {
	case u.problem == "":
		u.published, u.completed = u.nextPublished(set)
	case len(before.lines) == 0:
		err = converge.Invalid(authField, "%s", u.problem)
	}
	return u, err
}

// secretNames returns the names of the user's Secrets that an object refers to.
func secretNames(m ctrlclient.Object) []string {
	var names []string
	if over := m.(*cachev1alpha1.Memcached).Spec.TLS; over != nil {
		names = append(names, over.SecretName)
	}
	if auth := m.(*cachev1alpha1.Memcached).Spec.Auth; auth != nil {
		names = append(names, auth.SecretName)
	}
	return names
}
