package etcd

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// peerCertificates returns those to publish now, with a word for people if they are others than before. What somebody edited is
// taken back from memory; what somebody deleted is recreated. Before that the API server is asked: the cache may be older than the
// last write of another operator, and another authority each time would never become everybody's.
func (p *pass) peerCertificates(ctx context.Context) (next config.PeerCertificates, change string, err error) {
	members, now := config.TrustOf(p.cluster.Status.Membership, p.in.pods), p.clock.Now()
	cached, err := p.readPeers(ctx, p.OwnSecret)
	if err != nil {
		return cached, "", err
	}
	if next, change, err = cached.Next(p.spec, members, now); err == nil && change == "" {
		p.known.peers = &writtenPeers{cached, true}
		return next, change, nil
	}
	if written := p.known.peers; written != nil && (err != nil || !written.shown || !cached.IsMissing()) {
		return written.Next(p.spec, members, now)
	}
	if p.cluster.Status.Membership == nil { // nothing depends on them yet
		return next, change, err
	}
	live, err := p.readPeers(ctx, p.LiveOwnSecret)
	if err != nil {
		return live, "", err
	}
	return live.Next(p.spec, members, now)
}

// readSecret reads a Secret of ours.
type readSecret func(ctx context.Context, owner converge.Object, name string) (*corev1.Secret, error)

func (p *pass) readPeers(ctx context.Context, read readSecret) (config.PeerCertificates, error) {
	authority, err := read(ctx, p.cluster, p.spec.AuthorityName())
	if err != nil {
		return config.PeerCertificates{}, err
	}
	peers, err := read(ctx, p.cluster, p.spec.PeersName())
	if err != nil {
		return config.PeerCertificates{}, err
	}
	return config.PeerCertificatesIn(authority.Data, peers.Data), nil
}

// reportPeers reports that the members' certificates were changed, and remembers them, once they are written.
func (p *pass) reportPeers(ctx context.Context, observed converge.Observed) {
	if p.in.peersChange == "" {
		return
	}
	// Of a Secret that did not change, observed has only the metadata.
	written, err := p.readPeers(ctx, func(ctx context.Context, owner converge.Object, name string) (*corev1.Secret, error) {
		if secret, found := converge.Find[*corev1.Secret](observed, "Secret", name); found {
			return secret, nil
		}
		return p.OwnSecret(ctx, owner, name)
	})
	if err != nil || !reflect.DeepEqual(written, p.in.peers) {
		return
	}
	p.known.peers = &writtenPeers{p.in.peers, false}
	p.Events.Eventf(p.cluster, nil, corev1.EventTypeNormal, commonv1.ReasonPeerCertificatesChanged, "Renew", "%s", p.in.peersChange)
}
