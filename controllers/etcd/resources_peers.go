package etcd

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

const (
	// Keys of the Secrets, beside those of package pki and of type kubernetes.io/tls.
	authorityKeyKey = "ca.key"
	clientCertKey   = "client.crt"
	clientKeyKey    = "client.key"
	// maxMembers is the largest size: a certificate names every member that there may be.
	maxMembers = 5
	// annotationTrusted tells of a pod which authorities its etcd trusts. etcd reads them when it starts, so others take new
	// pods. The certificates themselves it reads at each handshake.
	annotationTrusted = "mainstay-operator.io/etcd-peer-authorities"
	// deliveryTime is longer than kubelets take to bring new certificates into running pods, which is a minute or two.
	deliveryTime = time.Hour
)

func authorityName(e *databasev1alpha1.EtcdCluster) string { return e.Name + "-authority" }

func peersName(e *databasev1alpha1.EtcdCluster) string { return e.Name + "-peers" }

// peerCertificates are what members show to each other, and whom they trust. A member shows another certificate to those that it
// connects to than to those that connect to it: etcd asks DNS for the names in the former, and refuses a pod whose address DNS
// does not have yet.
type peerCertificates struct {
	authority             pki.Authority // that issues
	trusted               []byte        // it, and a former one while some members show that one's certificates
	server, serverKey     []byte
	connecting, clientKey []byte
}

// peerCertificatesIn reads them from our own Secrets. What is not there is empty.
func peerCertificatesIn(authority, peers map[string][]byte) peerCertificates {
	return peerCertificates{
		authority: pki.Authority{Certificate: authority[pki.CACertKey], Key: authority[authorityKeyKey]},
		trusted:   peers[pki.CACertKey],
		server:    peers[corev1.TLSCertKey], serverKey: peers[corev1.TLSPrivateKeyKey],
		connecting: peers[clientCertKey], clientKey: peers[clientKeyKey],
	}
}

// isMissing reports whether one of the Secrets is not there.
func (c peerCertificates) isMissing() bool {
	return len(c.authority.Certificate) == 0 && len(c.authority.Key) == 0 || len(c.trusted) == 0 && len(c.server) == 0
}

// memberTrust tells whom a member trusts for as long as its etcd runs.
type memberTrust struct {
	authorities string // that its pod was made with
	hasRun      bool   // its etcd was started, so it cannot take others
}

// trustOf tells it of each pod, and of each member on record.
func trustOf(record *databasev1alpha1.EtcdMembership, pods []corev1.Pod) []memberTrust {
	var all []memberTrust
	byName := map[string]bool{}
	for i := range pods {
		byName[pods[i].Name] = true
		all = append(all, memberTrust{pods[i].Annotations[annotationTrusted], slices.ContainsFunc(pods[i].Status.ContainerStatuses, hasRun)})
	}
	if record != nil {
		for _, m := range record.Members {
			if !byName[m.Name] { // its pod is about to come
				all = append(all, memberTrust{})
			}
		}
	}
	return all
}

// errTrustLost says that members trust only an authority that can no longer issue, and whose certificates are gone.
var errTrustLost = errors.New("the members trust only an authority that is gone")

// trustLost says so to people. Others would cut each member off from those that have not started anew yet, and the certificates
// that members have in their pods hold on: it is for a human to choose the time.
func trustLost(e *databasev1alpha1.EtcdCluster) *membership.Step {
	return &membership.Step{Do: membership.Block, Reason: commonv1.ReasonPeerSecretsLost, Message: fmt.Sprintf(
		"the Secrets %q and %q, by which the members trust each other, are gone or damaged; the members go on, and none that ends comes "+
			"back: restore either from a backup; else, with storage, delete what is left of both and all pods of the cluster, which takes no "+
			"writes until they are back; without storage, save the data with etcdctl snapshot save, and make a new EtcdCluster",
		peersName(e), authorityName(e))}
}

// next are the certificates to publish now, with a word for people if they change.
//
// When the authority changes, some members run on with what they have read at their start, and kubelets bring new certificates
// to one earlier than to another. So there are steps, between which each member trusts every other: first all learn to trust
// both authorities, by new pods; then the new one issues the certificates; and at last the former one is dropped.
//
// It returns errTrustLost if whatever it published would cut members off.
func (c peerCertificates) next(spec membership.Spec, members []memberTrust, now time.Time) (next peerCertificates, change string, err error) {
	isLost := c.authority.Parse() == nil
	if c.authority, err = renewAuthority(c.authority, spec, now); err != nil {
		return c, "", err
	}
	authority := c.authority.Parse()
	leaf, trusted := c.leaf()
	isTrusted := func(m memberTrust) bool { return strings.Contains(m.authorities, pki.Fingerprint(authority)) }
	switch {
	case leaf == nil && len(members) > 1 && slices.ContainsFunc(members, func(m memberTrust) bool { return m.hasRun && !isTrusted(m) }):
		return c, "", errTrustLost
	case leaf == nil, isLost && !slices.ContainsFunc(members, func(m memberTrust) bool { return m.hasRun }):
		c.trusted = c.authority.Certificate
		return c.issue(spec, now)
	case !slices.ContainsFunc(trusted, authority.Equal):
		c.trusted = pki.MergeAuthorities(pki.Identity{Authorities: c.trusted}, pki.Identity{Authorities: c.authority.Certificate})
		return c, "a new authority of the members: each learns to trust it by a new pod", nil
	case leaf.CheckSignatureFrom(authority) != nil:
		if now.Before(leaf.NotAfter) && slices.ContainsFunc(members, func(m memberTrust) bool { return !isTrusted(m) }) {
			return c, "", nil
		}
		return c.issue(spec, now)
	case pki.IsDue(leaf, now), now.Before(leaf.NotBefore): // the latter after a clock that was ahead
		return c.issue(spec, now)
	case len(trusted) > 1 && now.Sub(leaf.NotBefore) > deliveryTime:
		c.trusted = c.authority.Certificate
		return c, "the former authority of the members is dropped, by new pods", nil
	}
	return c, "", nil
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
func (c peerCertificates) leaf() (leaf *x509.Certificate, trusted []*x509.Certificate) {
	trusted, err := measured.Bundle(c.trusted)
	server, connecting := pki.ParsePair(c.server, c.serverKey), pki.ParsePair(c.connecting, c.clientKey)
	vouches := func(one *x509.Certificate) bool {
		return server.CheckSignatureFrom(one) == nil && connecting.CheckSignatureFrom(one) == nil
	}
	if err != nil || server == nil || connecting == nil || !slices.ContainsFunc(trusted, vouches) {
		return nil, nil
	}
	return server, trusted
}

// issue replaces the certificates that members show.
func (c peerCertificates) issue(spec membership.Spec, now time.Time) (peerCertificates, string, error) {
	var hosts []string
	for ordinal := range int32(maxMembers) {
		hosts = append(hosts, spec.Host(spec.MemberName(ordinal)))
	}
	var err error
	if c.server, c.serverKey, err = c.authority.Issue("member", hosts, now); err != nil {
		return c, "", err
	}
	c.connecting, c.clientKey, err = c.authority.Issue("member", nil, now)
	return c, "certificates for the members, which need no restart to show them", err
}

// trustAnnotation names the authorities that a pod made now trusts.
func (c peerCertificates) trustAnnotation() map[string]string {
	names := pki.Fingerprints(c.trusted)
	if len(names) == 0 {
		return nil
	}
	return map[string]string{annotationTrusted: strings.Join(names, ",")}
}

// authoritySecret keeps the authority's key. No pod mounts it.
func authoritySecret(e *databasev1alpha1.EtcdCluster, c peerCertificates) *corev1ac.SecretApplyConfiguration {
	return newSecret(e, authorityName(e), map[string][]byte{pki.CACertKey: c.authority.Certificate, authorityKeyKey: c.authority.Key})
}

// peersSecret is mounted into each pod.
func peersSecret(e *databasev1alpha1.EtcdCluster, c peerCertificates) *corev1ac.SecretApplyConfiguration {
	return newSecret(e, peersName(e), c.peersData())
}

func (c peerCertificates) peersData() map[string][]byte {
	return map[string][]byte{pki.CACertKey: c.trusted, corev1.TLSCertKey: c.server, corev1.TLSPrivateKeyKey: c.serverKey,
		clientCertKey: c.connecting, clientKeyKey: c.clientKey}
}
