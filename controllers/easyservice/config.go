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

// annotationConfig of the pods is the digest of what configRefs name: another rolls them.
const annotationConfig = "mainstay-operator.io/config"

// readings are what configRefs named when it was read last, by object, without the
// values. Empty after a restart, each is read once more.
type readings struct {
	mu   sync.Mutex
	last map[types.NamespacedName]map[appv1.ConfigRef]reading
}

type reading struct {
	content *converge.Content
	uid     types.UID // of the object that it is keyed by
	digest  string
}

func (r *readings) of(key types.NamespacedName) map[appv1.ConfigRef]reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[key]
}

func (r *readings) keep(key types.NamespacedName, now map[appv1.ConfigRef]reading) {
	if len(now) == 0 {
		r.forget(key)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[types.NamespacedName]map[appv1.ConfigRef]reading{}
	}
	r.last[key] = now
}

func (r *readings) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, key)
}

// config is the digest of what configRefs name. While one is missing, which names the
// field, it is that of the pods that run: they go on.
func (r *Reconciler) config(ctx context.Context, e *appv1.EasyService, running string) (config string, missing, err error) {
	key, now, absent := client.ObjectKeyFromObject(e), map[appv1.ConfigRef]reading{}, []error{}
	last := r.readings.of(key)
	digests := make([]string, 0, len(e.Spec.ConfigRefs))
	for i, ref := range e.Spec.ConfigRefs {
		was := last[ref]
		if was.uid != e.UID {
			was = reading{}
		}
		content, err := r.read(ctx, e, ref, was.content)
		switch {
		case err != nil:
			return "", nil, err
		case content != was.content:
			was = reading{content: content.Bare(), uid: e.UID, digest: digest(e.UID, content.Data)}
		}
		if was.content.Data == nil && !ref.Optional {
			absent = append(absent, converge.Invalid(fmt.Sprintf("configRefs[%d]", i), "there is no %s %q in this namespace; make it, or say optional", ref.Kind, ref.Name))
		}
		now[ref] = was
		digests = append(digests, string(ref.Kind)+"/"+ref.Name+"="+was.digest)
	}
	r.readings.keep(key, now)
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

func (r *Reconciler) read(ctx context.Context, e *appv1.EasyService, ref appv1.ConfigRef, last *converge.Content) (*converge.Content, error) {
	key := client.ObjectKey{Namespace: e.Namespace, Name: ref.Name}
	if ref.Kind == appv1.Secret {
		return r.Secrets.Read(ctx, key, last)
	}
	return r.ConfigMaps.Read(ctx, key, last)
}

// digest of a content, keyed by the object: it does not tell that two of them hold the
// same. It is as strong as what it digests is hard to guess.
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

// named gives the objects of a kind that configRefs name.
func named(kind appv1.ConfigKind) func(client.Object) []string {
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
