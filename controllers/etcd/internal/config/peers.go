package config

import (
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

// deliveryTime is longer than kubelets take to bring new certificates into running pods, which is a minute or two.
const deliveryTime = time.Hour

// PeerCertificates are what members show to each other, and whom they trust. A member shows another certificate to those that it
// connects to than to those that connect to it: etcd asks DNS for the names in the former, and refuses a pod whose address DNS
// does not have yet.
type PeerCertificates struct {
	authority             pki.Authority // that issues
	trusted               []byte        // it, and a former one while some members show that one's certificates
	server, serverKey     []byte
	connecting, clientKey []byte
}

// PeerCertificatesIn reads them from our own Secrets. What is not there is empty.
func PeerCertificatesIn(authority, peers map[string][]byte) PeerCertificates {
	return PeerCertificates{
		authority: pki.Authority{Certificate: authority[pki.CACertKey], Key: authority[AuthorityKeyKey]},
		trusted:   peers[pki.CACertKey],
		server:    peers[corev1.TLSCertKey], serverKey: peers[corev1.TLSPrivateKeyKey],
		connecting: peers[ClientCertKey], clientKey: peers[ClientKeyKey],
	}
}

// IsMissing reports whether one of the Secrets is not there.
func (p PeerCertificates) IsMissing() bool {
	return len(p.authority.Certificate) == 0 && len(p.authority.Key) == 0 || len(p.trusted) == 0 && len(p.server) == 0
}

// MemberTrust is whom a member trusts while its etcd runs.
type MemberTrust struct {
	authorities string // that its pod was made with
	hasRun      bool   // its etcd was started, so it cannot take others
}

// TrustOf returns it of each pod, and of each recorded member.
func TrustOf(record *databasev1alpha1.EtcdMembership, pods []corev1.Pod) []MemberTrust {
	var all []MemberTrust
	byName := map[string]bool{}
	for i := range pods {
		byName[pods[i].Name] = true
		all = append(all, MemberTrust{pods[i].Annotations[AnnotationTrusted], slices.ContainsFunc(pods[i].Status.ContainerStatuses, HasRun)})
	}
	if record != nil {
		for _, m := range record.Members {
			if !byName[m.Name] { // its pod is about to come
				all = append(all, MemberTrust{})
			}
		}
	}
	return all
}

// ErrTrustLost says that members trust only an authority that can no longer issue, and whose certificates are gone.
var ErrTrustLost = errors.New("the members trust only an authority that is gone")

// NextPublished are the certificates to publish now, and what people are to know if they change.
//
// When the authority changes, some members run on with what they have read at their start, and kubelets bring new certificates
// to one earlier than to another. So there are steps, between which each member trusts every other: first all learn to trust
// both authorities, by new pods; then the new one issues the certificates; and at last the former one is dropped.
//
// It returns ErrTrustLost if whatever it published would cut members off.
func (p PeerCertificates) NextPublished(
	spec membership.Spec, members []MemberTrust, now time.Time,
) (next PeerCertificates, change string, err error) {
	isLost := p.authority.Parse() == nil
	if p.authority, err = renewAuthority(p.authority, spec, now); err != nil {
		return p, "", err
	}
	authority := p.authority.Parse()
	leaf, trusted := p.leaf()
	isTrusted := func(m MemberTrust) bool { return strings.Contains(m.authorities, pki.Fingerprint(authority)) }
	switch {
	case leaf == nil && len(members) > 1 && slices.ContainsFunc(members, func(m MemberTrust) bool { return m.hasRun && !isTrusted(m) }):
		return p, "", ErrTrustLost
	case leaf == nil, isLost && !slices.ContainsFunc(members, func(m MemberTrust) bool { return m.hasRun }):
		p.trusted = p.authority.Certificate
		return p.issue(spec, now)
	case !slices.ContainsFunc(trusted, authority.Equal):
		p.trusted = pki.MergeAuthorities(pki.Identity{Authorities: p.trusted}, pki.Identity{Authorities: p.authority.Certificate})
		return p, "a new authority of the members: each learns to trust it by a new pod", nil
	case leaf.CheckSignatureFrom(authority) != nil:
		if now.Before(leaf.NotAfter) && slices.ContainsFunc(members, func(m MemberTrust) bool { return !isTrusted(m) }) {
			return p, "", nil
		}
		return p.issue(spec, now)
	case pki.IsLeafDue(leaf, now):
		return p.issue(spec, now)
	case len(trusted) > 1 && now.Sub(pki.IssuedAt(leaf)) > deliveryTime:
		p.trusted = p.authority.Certificate
		return p, "the former authority of the members is dropped, by new pods", nil
	}
	return p, "", nil
}

// renewAuthority returns another in the place of one that is lost or due.
func renewAuthority(authority pki.Authority, spec membership.Spec, now time.Time) (pki.Authority, error) {
	if parsed := authority.Parse(); parsed != nil && !pki.IsDue(parsed, now) {
		return authority, nil
	}
	return pki.NewAuthority("peers of EtcdCluster "+spec.Namespace+"/"+spec.Name, now)
}

// leaf returns the certificate that members show, and the authorities that they are to trust. It is nil if others would refuse it.
// Both certificates are of one time and one authority.
func (p PeerCertificates) leaf() (leaf *x509.Certificate, trusted []*x509.Certificate) {
	trusted, err := measured.Bundle(p.trusted)
	server, connecting := pki.ParsePair(p.server, p.serverKey), pki.ParsePair(p.connecting, p.clientKey)
	vouches := func(one *x509.Certificate) bool {
		return server.CheckSignatureFrom(one) == nil && connecting.CheckSignatureFrom(one) == nil
	}
	if err != nil || server == nil || connecting == nil || !slices.ContainsFunc(trusted, vouches) {
		return nil, nil
	}
	return server, trusted
}

// issue replaces the certificates that members show.
func (p PeerCertificates) issue(spec membership.Spec, now time.Time) (PeerCertificates, string, error) {
	var err error
	if p.server, p.serverKey, err = p.authority.Issue("member", spec.MemberHosts(), now); err != nil {
		return p, "", err
	}
	p.connecting, p.clientKey, err = p.authority.Issue("member", nil, now)
	return p, "certificates for the members, which need no restart to show them", err
}

// TrustAnnotation names the authorities that a pod made now trusts.
func (p PeerCertificates) TrustAnnotation() map[string]string {
	names := pki.Fingerprints(p.trusted)
	if len(names) == 0 {
		return nil
	}
	return map[string]string{AnnotationTrusted: strings.Join(names, ",")}
}

// AuthorityData is what the Secret of the authority has.
func (p PeerCertificates) AuthorityData() map[string][]byte {
	return map[string][]byte{pki.CACertKey: p.authority.Certificate, AuthorityKeyKey: p.authority.Key}
}

// PeersData is what the Secret has that each pod mounts.
func (p PeerCertificates) PeersData() map[string][]byte {
	return map[string][]byte{pki.CACertKey: p.trusted, corev1.TLSCertKey: p.server, corev1.TLSPrivateKeyKey: p.serverKey,
		ClientCertKey: p.connecting, ClientKeyKey: p.clientKey}
}
