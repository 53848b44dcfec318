package etcd

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// writtenPeers are the members' certificates as they were written, and whether the cache has shown them since.
type writtenPeers struct {
	config.PeerCertificates
	shown bool
}

// peerCertificates returns those to publish now, with a word for people if they are others than before. What somebody edited is
// taken back from memory; what somebody deleted is recreated. Before that the API server is asked: the cache may be older than the
// last write of another operator, and another authority each time would never become everybody's.
func (o *object) peerCertificates(ctx context.Context) (next config.PeerCertificates, change string, err error) {
	members, now := config.TrustOf(o.cluster.Status.Membership, o.in.pods), o.clock.Now()
	cached, err := o.readPeers(ctx, o.OwnSecret)
	if err != nil {
		return cached, "", err
	}
	if next, change, err = cached.NextPublished(o.spec, members, now); err == nil && change == "" {
		o.known.peers = &writtenPeers{cached, true}
		return next, change, nil
	}
	if written := o.known.peers; written != nil && (err != nil || !written.shown || !cached.IsMissing()) {
		return written.NextPublished(o.spec, members, now)
	}
	if o.cluster.Status.Membership == nil { // nothing depends on them yet
		return next, change, err
	}
	live, err := o.readPeers(ctx, o.LiveOwnSecret)
	if err != nil {
		return live, "", err
	}
	return live.NextPublished(o.spec, members, now)
}

// readSecret reads a Secret of ours.
type readSecret func(ctx context.Context, owner converge.Object, name string) (*corev1.Secret, error)

func (o *object) readPeers(ctx context.Context, read readSecret) (config.PeerCertificates, error) {
	authority, err := read(ctx, o.cluster, o.spec.AuthorityName())
	if err != nil {
		return config.PeerCertificates{}, err
	}
	peers, err := read(ctx, o.cluster, o.spec.PeersName())
	if err != nil {
		return config.PeerCertificates{}, err
	}
	return config.PeerCertificatesIn(authority.Data, peers.Data), nil
}

// reportPeers reports that the members' certificates were changed, and remembers them, once they are written.
func (o *object) reportPeers(ctx context.Context, observed converge.Observed) {
	if o.in.peersChange == "" {
		return
	}
	// Of a Secret that did not change, observed has only the metadata.
	written, err := o.readPeers(ctx, func(ctx context.Context, owner converge.Object, name string) (*corev1.Secret, error) {
		if secret, found := converge.Find[*corev1.Secret](observed, "Secret", name); found {
			return secret, nil
		}
		return o.OwnSecret(ctx, owner, name)
	})
	if err != nil || !reflect.DeepEqual(written, o.in.peers) {
		return
	}
	o.known.peers = &writtenPeers{o.in.peers, false}
	o.Events.Eventf(o.cluster, nil, corev1.EventTypeNormal, commonv1.ReasonPeerCertificatesChanged, "Renew", "%s", o.in.peersChange)
}
