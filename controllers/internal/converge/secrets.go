package converge

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// UserSecrets reads the Secrets that the objects of one kind name. It remembers what each held, so that a pass reads only
// those that have changed.
type UserSecrets struct {
	ContentReader
	read   Memory[contentsByName]
	judged Memory[verdict]
}

// contentsByName is what one object's Secrets held when they were read last.
type contentsByName map[string]*Content

// Init makes the map.
func (c *contentsByName) Init() { *c = contentsByName{} }

// NewUserSecrets returns a reader that remembers nothing yet.
func NewUserSecrets(reader ContentReader) *UserSecrets { return &UserSecrets{ContentReader: reader} }

// Data returns what the user's Secret of that name holds, in the owner's namespace; nil when there is none.
func (s *UserSecrets) Data(ctx context.Context, owner client.Object, name string) (map[string][]byte, error) {
	content, err := s.content(ctx, owner, name)
	if err != nil {
		return nil, err
	}
	return content.Data, nil
}

func (s *UserSecrets) content(ctx context.Context, owner client.Object, name string) (*Content, error) {
	known, unlock := s.read.Lock(owner)
	contents := *known // for this pass alone: an object has one at a time
	unlock()
	content, err := s.ReadIfChanged(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, contents[name])
	if err != nil {
		return nil, err
	}
	contents[name] = content
	return content, nil
}

// Forget drops what the Secrets of an object held that is gone.
func (s *UserSecrets) Forget(owner types.NamespacedName) {
	s.read.Forget(owner)
	s.judged.Forget(owner)
}

// OwnSecret reads a Secret that we made for the owner; an empty one when there is none. One that belongs to somebody else
// counts as none, for Converge to refuse. If the cache lacks it and the owner was reconciled before, the API server is asked:
// what runs must not get new passwords because somebody took a label off the Secret.
func (c *Converger) OwnSecret(ctx context.Context, owner Object, name string) (*corev1.Secret, error) {
	secret, err := readOwnSecret(ctx, c, owner, name)
	if apierrors.IsNotFound(err) && len(*owner.GetConditions()) > 0 {
		return c.LiveOwnSecret(ctx, owner, name)
	}
	return secret, client.IgnoreNotFound(err)
}

// LiveOwnSecret is OwnSecret without the cache, which may be older than the last write of a Secret of ours.
func (c *Converger) LiveOwnSecret(ctx context.Context, owner Object, name string) (*corev1.Secret, error) {
	secret, err := readOwnSecret(ctx, c.APIReader, owner, name)
	return secret, client.IgnoreNotFound(err)
}

// readOwnSecret returns an empty Secret for one that is not the owner's, and with an error.
func readOwnSecret(ctx context.Context, from client.Reader, owner Object, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := from.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, secret); err != nil {
		return &corev1.Secret{}, fmt.Errorf("reading Secret %q: %w", name, err)
	}
	if !metav1.IsControlledBy(secret, owner) {
		return &corev1.Secret{}, nil
	}
	return secret, nil
}
