package easyservice

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// annotationConfig holds, on the pods, the digest of what configRefs name: a change rolls them.
const annotationConfig = "mainstay-operator.io/config"

// configCaches holds what configRefs named when it was read last, by object, without the values. It is empty after a
// restart; everything is then read once more.
type configCaches struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]map[appv1.ConfigRef]cachedConfig
}

type cachedConfig struct {
	content *converge.Content
	uid     types.UID // of the object, with which the digest is keyed
	digest  string
}

func (r *configCaches) get(key types.NamespacedName) map[appv1.ConfigRef]cachedConfig {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries[key]
}

func (r *configCaches) put(key types.NamespacedName, now map[appv1.ConfigRef]cachedConfig) {
	if len(now) == 0 {
		r.forget(key)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = map[types.NamespacedName]map[appv1.ConfigRef]cachedConfig{}
	}
	r.entries[key] = now
}

func (r *configCaches) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, key)
}

// configDigest returns the digest of what configRefs name. While one is missing, it returns that of the running pods,
// so that they go on, and the error missing, which names the field.
func (r *Reconciler) configDigest(ctx context.Context, e *appv1.EasyService, running string) (config string, missing, err error) {
	key, now, absent := client.ObjectKeyFromObject(e), map[appv1.ConfigRef]cachedConfig{}, []error{}
	last := r.configCache.get(key)
	digests := make([]string, 0, len(e.Spec.ConfigRefs))
	for i, ref := range e.Spec.ConfigRefs {
		cached := last[ref]
		if cached.uid != e.UID {
			cached = cachedConfig{}
		}
		content, err := r.readConfigRef(ctx, e, ref, cached.content)
		switch {
		case err != nil:
			return "", nil, err
		case content != cached.content:
			cached = cachedConfig{content: content.WithoutValues(), uid: e.UID, digest: digest(e.UID, content.Data)}
		}
		if cached.content.Data == nil && !ref.Optional {
			absent = append(absent, converge.Invalid(fmt.Sprintf("configRefs[%d]", i), "there is no %s %q in this namespace; make it, or say optional", ref.Kind, ref.Name))
		}
		now[ref] = cached
		digests = append(digests, string(ref.Kind)+"/"+ref.Name+"="+cached.digest)
	}
	r.configCache.put(key, now)
	switch {
	case len(absent) > 0:
		return running, errors.Join(absent...), nil
	case len(digests) == 0:
		return "", nil, nil
	}
	slices.Sort(digests) // the order of the list is nothing to roll for
	all := sha256.New()
	for _, one := range digests {
		all.Write([]byte(one + "\n"))
	}
	return hex.EncodeToString(all.Sum(nil)[:12]), nil, nil
}

func (r *Reconciler) readConfigRef(ctx context.Context, e *appv1.EasyService, ref appv1.ConfigRef, last *converge.Content) (*converge.Content, error) {
	key := client.ObjectKey{Namespace: e.Namespace, Name: ref.Name}
	if ref.Kind == appv1.Secret {
		return r.Secrets.ReadIfChanged(ctx, key, last)
	}
	return r.ConfigMaps.ReadIfChanged(ctx, key, last)
}

// digest is the digest of a content, keyed with the object's UID: it does not tell that two objects hold the same. It
// hides a content only as well as that is hard to guess.
func digest(uid types.UID, data map[string][]byte) string {
	if data == nil {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(uid))
	add := func(value []byte) {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(value))))
		mac.Write(value)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		add([]byte(key))
		add(data[key])
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// configRefNames returns a function that lists the objects of a kind that configRefs name.
func configRefNames(kind appv1.ConfigKind) func(client.Object) []string {
	return func(obj client.Object) []string {
		var names []string
		for _, ref := range obj.(*appv1.EasyService).Spec.ConfigRefs {
			if ref.Kind == kind {
				names = append(names, ref.Name)
			}
		}
		return names
	}
}
