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

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// annotationConfig holds, on the pods, the digest of what configRefs name: a change rolls them.
const annotationConfig = "mainstay-operator.io/config"

// objectMemory is what configRefs named when it was read last, without the values. After a restart everything is read
// once more.
type objectMemory struct {
	configs map[appv1.ConfigRef]cachedConfig // never changed, only replaced
}

type cachedConfig struct {
	content *converge.Content
	digest  string
}

func (r *Reconciler) lastConfigs(e *appv1.EasyService) map[appv1.ConfigRef]cachedConfig {
	known, unlock := r.memory.Lock(e)
	defer unlock()
	return known.configs
}

func (r *Reconciler) keepConfigs(e *appv1.EasyService, now map[appv1.ConfigRef]cachedConfig) {
	known, unlock := r.memory.Lock(e)
	defer unlock()
	known.configs = now
}

// configDigest returns the digest of what configRefs name. While one is missing, it returns that of the running pods,
// so that they continue, and the error missing, which names the field.
func (r *Reconciler) configDigest(ctx context.Context, e *appv1.EasyService, running string) (config string, missing, err error) {
	now, absent := map[appv1.ConfigRef]cachedConfig{}, []error{}
	last := r.lastConfigs(e)
	digests := make([]string, 0, len(e.Spec.ConfigRefs))
	for i, ref := range e.Spec.ConfigRefs {
		cached := last[ref]
		content, err := r.readConfigRef(ctx, e, ref, cached.content)
		switch {
		case err != nil:
			return "", nil, err
		case content != cached.content:
			cached = cachedConfig{content: content.WithoutValues(), digest: digest(e.UID, content.Data)}
		}
		if cached.content.Data == nil && !ref.Optional {
			absent = append(absent, converge.Invalid(fmt.Sprintf("configRefs[%d]", i),
				"there is no %s %q in this namespace; make it, or say optional", ref.Kind, ref.Name))
		}
		now[ref] = cached
		digests = append(digests, string(ref.Kind)+"/"+ref.Name+"="+cached.digest)
	}
	r.keepConfigs(e, now)
	switch {
	case len(absent) > 0:
		return running, errors.Join(absent...), nil
	case len(digests) == 0:
		return "", nil, nil
	}
	slices.Sort(digests) // the order of the list is nothing to roll for
	all := sha256.New()
	for _, digest := range digests {
		all.Write([]byte(digest + "\n"))
	}
	return hex.EncodeToString(all.Sum(nil)[:12]), nil, nil
}

func (r *Reconciler) readConfigRef(ctx context.Context, e *appv1.EasyService, ref appv1.ConfigRef,
	last *converge.Content) (*converge.Content, error) {
	key := client.ObjectKey{Namespace: e.Namespace, Name: ref.Name}
	if ref.Kind == appv1.Secret {
		return r.Secrets.ReadIfChanged(ctx, key, last)
	}
	return r.ConfigMaps.ReadIfChanged(ctx, key, last)
}

// digest is the digest of a content, keyed with the object's UID: it does not show that two objects hold the same. It
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
