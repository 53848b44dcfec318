package memcached

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// tlsField of the spec, as messages name it.
const tlsField = "tls.secretName"

// certificate that the nodes serve. The user's Secret is copied when it is found fit:
// what happens to that one stops no node from starting.
type certificate struct {
	pki.Identity
	problem string // with the user's Secret
}

// certificate is the user's, else the last good one. Without either there is an error.
func (r *Reconciler) certificate(ctx context.Context, m *cachev1alpha1.Memcached) (certificate, error) {
	var c certificate
	if m.Spec.TLS == nil {
		return c, nil
	}
	data, err := r.userSecret(ctx, m, m.Spec.TLS.SecretName)
	if err == nil {
		asClient := m.Spec.TLS.ClientAuth == cachev1alpha1.MemcachedClientAuthRequire
		c.Identity, c.problem = pki.Read(m.Spec.TLS.SecretName, data, serviceHost(m), asClient, r.clock.Now())
		if c.problem == "" {
			return c, nil
		}
	}
	own, ownErr := r.ownSecret(ctx, m, certificatesName(m))
	c.Identity = publishedIn(own)
	if c.problem != "" && ownErr == nil && c.None() {
		err = converge.Invalid(tlsField, "%s", c.problem)
	}
	return c, errors.Join(err, ownErr)
}

// userSecret is what a Secret of the user's holds; no data at all when there is none.
func (r *Reconciler) userSecret(ctx context.Context, m *cachev1alpha1.Memcached, name string) (map[string][]byte, error) {
	content, err := r.Secrets.Read(ctx, ctrlclient.ObjectKey{Namespace: m.Namespace, Name: name}, r.memory.content(m, name))
	if err != nil {
		return nil, err
	}
	r.memory.noteContent(m, name, content)
	return content.Data, nil
}

// ownSecret is what one of ours holds; it leaves somebody else's out, for Converge to refuse.
func (r *Reconciler) ownSecret(ctx context.Context, m *cachev1alpha1.Memcached, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	err := r.Get(ctx, ctrlclient.ObjectKey{Namespace: m.Namespace, Name: name}, &secret)
	if ctrlclient.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %q: %w", name, err)
	}
	if !metav1.IsControlledBy(&secret, m) {
		return nil, nil
	}
	return secret.Data, nil
}

// secretNames are the user's Secrets that an object names.
func secretNames(m ctrlclient.Object) []string {
	var names []string
	if over := m.(*cachev1alpha1.Memcached).Spec.TLS; over != nil {
		names = append(names, over.SecretName)
	}
	return names
}

// due is how soon there is something to say about it; 0 for nothing.
func (c certificate) due(now time.Time) time.Duration {
	if end := c.Expires(); now.Before(end) {
		return end.Sub(now) + time.Second
	}
	return 0
}
