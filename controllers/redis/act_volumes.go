package redis

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// claimPrefix is what the StatefulSet puts before a pod's name for its claim's.
const claimPrefix = dataVolume + "-"

// volumes are the nodes' claims, by node: also of nodes that are not there now.
func (r *Reconciler) volumes(ctx context.Context, redis *cachev1alpha1.Redis) (map[string]volume, error) {
	if redis.Spec.Storage == nil {
		return nil, nil
	}
	var list corev1.PersistentVolumeClaimList
	err := r.List(ctx, &list, ctrlclient.InNamespace(redis.Namespace), ctrlclient.MatchingLabels(parts.Selector(kind, redis.Name)))
	if err != nil {
		return nil, fmt.Errorf("listing PersistentVolumeClaims: %w", err)
	}
	found := map[string]volume{}
	for i := range list.Items {
		node, isData := strings.CutPrefix(list.Items[i].Name, claimPrefix)
		if isData && isNode(redis, node) {
			claim := r.memory.latest(redis, &list.Items[i])
			found[node] = volume{stamp: readStamp(claim.Annotations), claim: claim}
		}
	}
	return found, nil
}

// stamper writes a stamp on a node's volume, just as it was looked at.
func (r *Reconciler) stamper(redis *cachev1alpha1.Redis, volumes map[string]volume) func(context.Context, string, stamp) error {
	return func(ctx context.Context, node string, s stamp) error {
		v := volumes[node]
		next := v.claim.DeepCopy()
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		maps.Copy(next.Annotations, s.annotations())
		if err := r.patchClaim(ctx, redis, v.claim, next); err != nil {
			return fmt.Errorf("writing epoch %d on PersistentVolumeClaim %q: %w", s.epoch, next.Name, err)
		}
		volumes[node] = volume{stamp: s, claim: next}
		return nil
	}
}

// patchClaim leaves the server's answer in next.
func (r *Reconciler) patchClaim(ctx context.Context, redis *cachev1alpha1.Redis, seen, next *corev1.PersistentVolumeClaim) error {
	patch := ctrlclient.MergeFromWithOptions(seen, ctrlclient.MergeFromWithOptimisticLock{})
	err := ctrlclient.IgnoreNotFound(r.Patch(ctx, next, patch, ctrlclient.FieldOwner(converge.FieldManager)))
	if err == nil {
		r.memory.wrote(redis, next)
	}
	return err
}

// keep what the volumes are to be known by when no process is left.
func keep(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s step, save converge.Save) error {
	if s.do == putStamp {
		return putStamps(ctx, redis, f, s.nodes)
	}
	redis.Status.Replication, redis.Status.TargetMaster = nil, redis.Status.Master
	return save(ctx)
}

// putStamps writes the stamps that are due, on nodes that have a volume.
func putStamps(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	return each(nodes, func(name string) error {
		if _, ok := f.volumes[name]; !ok {
			return nil
		}
		return f.stamp(ctx, name, situation{redis, f.world}.due(name))
	})
}

// latest is our own last write of a claim while the cache has not heard of it.
func (m *memory) latest(redis *cachev1alpha1.Redis, cached *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(redis)
	written := known.claims[cached.Name]
	if written == nil {
		return cached
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, written.ResourceVersion)
	if err != nil || order >= 0 || cached.UID != written.UID {
		delete(known.claims, cached.Name)
		return cached
	}
	return written
}

func (m *memory) wrote(redis *cachev1alpha1.Redis, claim *corev1.PersistentVolumeClaim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(redis).claims[claim.Name] = claim
}
