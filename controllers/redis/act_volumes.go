package redis

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// listVolumes returns the nodes' volumes, by node, also of nodes that do not exist now.
func (r *Reconciler) listVolumes(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec) (map[string]topology.Volume, error) {
	claims, err := listClaims(ctx, r.Client, spec)
	if err != nil {
		return nil, err
	}
	found := map[string]topology.Volume{}
	for node, cached := range claims {
		claim, err := r.latestClaim(ctx, redis, cached)
		if err != nil {
			return nil, err
		}
		found[node] = topology.Volume{Stamp: topology.ReadStamp(claim.Annotations), Claim: claim}
	}
	return found, nil
}

// listClaims returns the claims of the nodes' data, by node, as this reader has them.
func listClaims(ctx context.Context, reader ctrlclient.Reader, spec config.Spec) (map[string]*corev1.PersistentVolumeClaim, error) {
	if spec.Storage == nil {
		return nil, nil
	}
	found, err := converge.ListClaims(ctx, reader, types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name}, appName, dataVolume)
	maps.DeleteFunc(found, func(node string, _ *corev1.PersistentVolumeClaim) bool { return !spec.IsNode(node) })
	return found, err
}

// patchClaim writes next, and leaves the API server's answer in it.
func (r *Reconciler) patchClaim(ctx context.Context, redis *cachev1alpha1.Redis, seen, next *corev1.PersistentVolumeClaim) error {
	err := r.PatchClaim(ctx, seen, next)
	if err == nil {
		r.memory.noteWrite(redis, writtenClaim{next, r.clock.Now()})
	}
	return err
}

// stampOrEndMastership stamps volumes, or records that nobody is master any more: the volumes then tell on their
// own who may lead.
func stampOrEndMastership(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	if s.Do == topology.StampVolumes {
		return writeStamps(ctx, redis, f, s.NodeNames)
	}
	redis.Status.Replication, redis.Status.TargetMaster = nil, redis.Status.Master
	return f.save(ctx)
}

// writeStamps writes the stamps that are due on these nodes' volumes, where they have one.
func writeStamps(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	return forEach(nodes, func(name string) error {
		if _, ok := f.Volumes[name]; !ok {
			return nil
		}
		return f.writeStamp(ctx, name, f.situation(redis).DueStamp(name))
	})
}

// cacheLag is how long the cache may take to show our own write before the API server is asked
// what became of it.
const cacheLag = 5 * time.Second

// writtenClaim is a claim as we last wrote it, or as the API server showed it instead, and when: the
// API server is asked once per cacheLag at most.
type writtenClaim struct {
	*corev1.PersistentVolumeClaim
	at time.Time
}

// latestClaim returns our own last write of a claim while the cache does not show it. After an API server was
// restored from a backup, the cache never will: then the claim that the API server holds counts.
func (r *Reconciler) latestClaim(ctx context.Context, redis *cachev1alpha1.Redis, cached *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	written, known := r.memory.newerWrite(redis, cached)
	if !known {
		return cached, nil
	}
	if r.clock.Since(written.at) < cacheLag {
		return written.PersistentVolumeClaim, nil
	}
	var stored corev1.PersistentVolumeClaim
	if err := r.APIReader.Get(ctx, ctrlclient.ObjectKeyFromObject(cached), &stored); err != nil {
		return nil, fmt.Errorf("reading PersistentVolumeClaim %q: %w", cached.Name, err)
	}
	r.memory.noteWrite(redis, writtenClaim{&stored, r.clock.Now()})
	return &stored, nil
}

// newerWrite returns our own last write of a claim, if it is later than what the cache shows.
func (m *memory) newerWrite(redis *cachev1alpha1.Redis, cached *corev1.PersistentVolumeClaim) (writtenClaim, bool) {
	known, unlock := m.Lock(redis)
	defer unlock()
	written, ours := known.writtenClaims[cached.Name]
	if !ours {
		return writtenClaim{}, false
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, written.ResourceVersion)
	if err != nil || order >= 0 || cached.UID != written.UID {
		delete(known.writtenClaims, cached.Name)
		return writtenClaim{}, false
	}
	return written, true
}

func (m *memory) noteWrite(redis *cachev1alpha1.Redis, claim writtenClaim) {
	known, unlock := m.Lock(redis)
	defer unlock()
	known.writtenClaims[claim.Name] = claim
}
