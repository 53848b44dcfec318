package etcd

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// peerCertificates returns those to publish now, with a word for people if they are others than before. What somebody edited is
// taken back from memory; what somebody deleted is made anew. Before that the API server is asked: the cache may be older than the
// last write of another operator, and another authority each time would never become everybody's.
func (r *Reconciler) peerCertificates(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec, pods []corev1.Pod) (next config.PeerCertificates, change string, err error) {
	members, now := config.TrustOf(e.Status.Membership, pods), r.clock.Now()
	cached, err := readPeers(ctx, e, spec, r.OwnSecret)
	if err != nil {
		return cached, "", err
	}
	if next, change, err = cached.Next(spec, members, now); err == nil && change == "" {
		r.memory.notePeers(e, writtenPeers{cached, true})
		return next, change, nil
	}
	if written, known := r.memory.peers(e); known && (err != nil || !written.shown || !cached.IsMissing()) {
		return written.Next(spec, members, now)
	}
	if e.Status.Membership == nil { // nothing depends on them yet
		return next, change, err
	}
	live, err := readPeers(ctx, e, spec, r.LiveOwnSecret)
	if err != nil {
		return live, "", err
	}
	return live.Next(spec, members, now)
}

// readSecret reads a Secret of ours.
type readSecret func(ctx context.Context, owner converge.Object, name string) (*corev1.Secret, error)

func readPeers(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec, read readSecret) (config.PeerCertificates, error) {
	authority, err := read(ctx, e, spec.AuthorityName())
	if err != nil {
		return config.PeerCertificates{}, err
	}
	peers, err := read(ctx, e, spec.PeersName())
	if err != nil {
		return config.PeerCertificates{}, err
	}
	return config.PeerCertificatesIn(authority.Data, peers.Data), nil
}

// reportPeers reports that the members' certificates were changed, and remembers them, once they are written.
func (r *Reconciler) reportPeers(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec, observed converge.Observed, in inputs) {
	if in.peersChange == "" {
		return
	}
	// Of a Secret that did not change, observed has only the metadata.
	written, err := readPeers(ctx, e, spec, func(ctx context.Context, owner converge.Object, name string) (*corev1.Secret, error) {
		if secret, found := converge.Find[*corev1.Secret](observed, "Secret", name); found {
			return secret, nil
		}
		return r.OwnSecret(ctx, owner, name)
	})
	if err != nil || !reflect.DeepEqual(written, in.peers) {
		return
	}
	r.memory.notePeers(e, writtenPeers{in.peers, false})
	r.Events.Eventf(e, nil, corev1.EventTypeNormal, commonv1.ReasonPeerCertificatesChanged, "Renew", "%s", in.peersChange)
}
