package converge

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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

// maxNames is how many names of a user's Secrets are remembered of one object: twice as many as a spec has.
const maxNames = 4

// Data returns what the user's Secret of that name holds, in the owner's namespace; nil when there is none. One of more than
// maxRemembered bytes is not remembered: otherwise many objects that name one large Secret would fill the memory with it.
func (u *UserSecrets) Data(ctx context.Context, owner client.Object, name string) (map[string][]byte, error) {
	content, err := u.content(ctx, owner, name)
	if err != nil {
		return nil, err
	}
	return content.Data, nil
}

func (u *UserSecrets) content(ctx context.Context, owner client.Object, name string) (*Content, error) {
	known, unlock := u.read.Lock(owner)
	contents := *known // for this pass alone: an object has one at a time
	unlock()
	content, err := u.ReadIfChanged(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, contents[name])
	if err != nil {
		return nil, err
	}
	if _, known := contents[name]; !known && len(contents) >= maxNames {
		clear(contents) // the spec has had other names
	}
	delete(contents, name)
	if content.size() <= maxRemembered {
		contents[name] = content
	}
	return content, nil
}

// Forget drops what the Secrets of an object held that is gone.
func (u *UserSecrets) Forget(owner types.NamespacedName) {
	u.read.Forget(owner)
	u.judged.Forget(owner)
}

// OwnSecret reads a Secret that we made for the owner; an empty one when there is none. One that belongs to somebody else
// counts as none, for Converge to refuse, and its content is not read. If the cache lacks it and the owner was reconciled
// before, the API server is asked: what runs must not get new passwords because the cache lags.
func (c *Converger) OwnSecret(ctx context.Context, owner Object, name string) (*corev1.Secret, error) {
	c.secrets.remember(owner, name)
	cached := SecretMetadata()
	err := c.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, cached)
	switch {
	case apierrors.IsNotFound(err) && len(*owner.GetConditions()) > 0:
		return c.LiveOwnSecret(ctx, owner, name)
	case apierrors.IsNotFound(err):
		return &corev1.Secret{}, nil
	case err != nil:
		return &corev1.Secret{}, fmt.Errorf("reading Secret %q: %w", name, err)
	case !metav1.IsControlledBy(cached, owner):
		return &corev1.Secret{}, nil
	}
	whole, err := c.readWhole(ctx, owner, cached)
	if err != nil {
		return &corev1.Secret{}, fmt.Errorf("reading Secret %q: %w", name, err)
	}
	return ifControlled(whole.(*corev1.Secret), owner), nil
}

// LiveOwnSecret is OwnSecret without the cache, which may be older than the last write of a Secret of ours.
func (c *Converger) LiveOwnSecret(ctx context.Context, owner Object, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return &corev1.Secret{}, nil
		}
		return &corev1.Secret{}, fmt.Errorf("reading Secret %q: %w", name, err)
	}
	c.secrets.note(owner, secret)
	return ifControlled(secret, owner), nil
}

// ifControlled returns an empty Secret for one that is not the owner's.
func ifControlled(secret *corev1.Secret, owner Object) *corev1.Secret {
	if !metav1.IsControlledBy(secret, owner) {
		return &corev1.Secret{}
	}
	return secret
}

// maxRemembered bounds, in bytes, a Secret whose content is remembered. Passwords and certificates are smaller, unless a chain
// is very long; a larger one is read again whenever it is asked for.
const maxRemembered = 64 << 10

// ownSecrets remembers those Secrets of ours that OwnSecret was asked for, as they were read or written last.
type ownSecrets struct{ objects Memory[secretsByName] }

// secretsByName holds nil for one that was not read yet.
type secretsByName map[string]*corev1.Secret

// Init makes the map.
func (s *secretsByName) Init() { *s = secretsByName{} }

// remember makes note keep the Secret of this name.
func (o *ownSecrets) remember(owner client.Object, name string) {
	known, unlock := o.objects.Lock(owner)
	defer unlock()
	if _, asked := (*known)[name]; !asked {
		(*known)[name] = nil
	}
}

// note keeps a Secret that the API server has just returned, if OwnSecret was asked for it.
func (o *ownSecrets) note(owner, live client.Object) {
	secret, is := live.(*corev1.Secret)
	if !is {
		return
	}
	known, unlock := o.objects.Lock(owner)
	defer unlock()
	if _, asked := (*known)[secret.Name]; !asked {
		return
	}
	(*known)[secret.Name] = nil
	if secret.Size() <= maxRemembered {
		(*known)[secret.Name] = secret.DeepCopy()
	}
}

// known returns the Secret as it was noted, unless the cache has a later version or the Secret is not remembered.
func (o *ownSecrets) known(owner, cached client.Object) client.Object {
	if cached.GetObjectKind().GroupVersionKind().Kind != "Secret" {
		return nil
	}
	known, unlock := o.objects.Lock(owner)
	defer unlock()
	last := (*known)[cached.GetName()]
	if last == nil || last.UID != cached.GetUID() {
		return nil
	}
	if order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), last.ResourceVersion); err != nil || order > 0 {
		return nil
	}
	return last.DeepCopy()
}
