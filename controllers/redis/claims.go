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

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// listVolumes returns the nodes' volumes, by node, also of nodes that do not exist now.
func (p *pass) listVolumes(ctx context.Context) (map[string]topology.Volume, error) {
	claims, err := listClaims(ctx, p.Client, p.Spec)
	if err != nil {
		return nil, err
	}
	found := map[string]topology.Volume{}
	for node, cached := range claims {
		claim, err := p.latestClaim(ctx, cached)
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
	found, err := converge.ListClaims(ctx, reader, types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name}, config.AppName,
		children.DataVolume)
	maps.DeleteFunc(found, func(node string, _ *corev1.PersistentVolumeClaim) bool { return !spec.IsNode(node) })
	return found, err
}

// patchClaim writes next, and leaves the API server's answer in it.
func (p *pass) patchClaim(ctx context.Context, seen, next *corev1.PersistentVolumeClaim) error {
	err := p.PatchClaim(ctx, seen, next)
	if err == nil {
		p.known.writtenClaims[next.Name] = writtenClaim{next, p.clock.Now()}
	}
	return err
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
func (p *pass) latestClaim(ctx context.Context, cached *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	written, known := p.known.newerWrite(cached)
	if !known {
		return cached, nil
	}
	if p.clock.Since(written.at) < cacheLag {
		return written.PersistentVolumeClaim, nil
	}
	var stored corev1.PersistentVolumeClaim
	if err := p.APIReader.Get(ctx, ctrlclient.ObjectKeyFromObject(cached), &stored); err != nil {
		return nil, fmt.Errorf("reading PersistentVolumeClaim %q: %w", cached.Name, err)
	}
	p.known.writtenClaims[stored.Name] = writtenClaim{&stored, p.clock.Now()}
	return &stored, nil
}

// newerWrite returns our own last write of a claim, if it is later than what the cache shows.
func (o *objectMemory) newerWrite(cached *corev1.PersistentVolumeClaim) (writtenClaim, bool) {
	written, ours := o.writtenClaims[cached.Name]
	if !ours {
		return writtenClaim{}, false
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, written.ResourceVersion)
	if err != nil || order >= 0 || cached.UID != written.UID {
		delete(o.writtenClaims, cached.Name)
		return writtenClaim{}, false
	}
	return written, true
}
