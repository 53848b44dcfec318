package config

import (
	"crypto/x509"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

var (
	peersSpec  = membership.Spec{Name: "e", Namespace: "ns", Size: 3}
	peersStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// step is what comes of one pass, which must not fail.
func step(t *testing.T, c PeerCertificates, members []MemberTrust, now time.Time) (PeerCertificates, string) {
	t.Helper()
	next, change, err := c.NextPublished(peersSpec, members, now)
	if err != nil {
		t.Fatal(err)
	}
	return next, change
}

// certificates are what the names of a table mean: "-" is none, "a" the authority of the start, and "b" one after it.
type certificates struct{ authority, trusted, issuer string }

// nameCertificates names what there is; old are the certificates of the start.
func nameCertificates(c, old PeerCertificates) certificates {
	a := old.authority.Parse()
	name := func(one *x509.Certificate) string {
		if one.Equal(a) {
			return "a"
		}
		return "b"
	}
	named := certificates{"-", "", "-"}
	if one := c.authority.Parse(); one != nil {
		named.authority = name(one)
	}
	trusted, _ := measured.Bundle(c.trusted)
	for _, authority := range trusted {
		named.trusted += name(authority)
		if leaf, _ := c.leaf(); leaf != nil && leaf.CheckSignatureFrom(authority) == nil {
			named.issuer = name(authority)
		}
	}
	return named
}

func TestNextPeerCertificates(t *testing.T) {
	a, _ := step(t, PeerCertificates{}, nil, peersStart)
	trustA := a.TrustAnnotation()[AnnotationTrusted]
	withB := a
	var err error
	if withB.authority, err = pki.NewAuthority("b", peersStart); err != nil {
		t.Fatal(err)
	}
	both, _ := step(t, withB, nil, peersStart)
	trustBoth := both.TrustAnnotation()[AnnotationTrusted]
	byB, _ := step(t, both, nil, peersStart)
	byOldB, _ := step(t, both, nil, peersStart.Add(day))
	onlyB := byB
	onlyB.trusted = byB.authority.Certificate
	without := func(c PeerCertificates, edit func(*PeerCertificates)) PeerCertificates {
		edit(&c)
		return c
	}
	noAuthority := func(c *PeerCertificates) { c.authority = pki.Authority{} }
	noPeers := func(c *PeerCertificates) { *c = PeerCertificates{authority: c.authority} }
	running := func(trusts ...string) []MemberTrust {
		var all []MemberTrust
		for _, authorities := range trusts {
			all = append(all, MemberTrust{authorities, true})
		}
		return all
	}
	for _, c := range []struct {
		name    string
		from    PeerCertificates
		members []MemberTrust
		after   time.Duration
		want    certificates
		renewed bool // what members show
		lost    bool
	}{
		{name: "the first", want: certificates{"b", "b", "b"}, renewed: true},
		{name: "all is well", from: a, members: running(trustA, trustA), after: year / 2, want: certificates{"a", "a", "a"}},
		{name: "less than a third of a year is left", from: a,
			members: running(trustA, trustA), after: year * 3 / 4, want: certificates{"a", "a", "a"}, renewed: true},
		{name: "they have ended", from: a, members: running(trustA, trustA), after: 2 * year, want: certificates{"a", "a", "a"}, renewed: true},
		{name: "the authority is due: both are trusted first", from: a,
			members: running(trustA, trustA), after: 7 * year, want: certificates{"b", "ab", "a"}},
		{name: "the authority is lost: the same", from: without(a, noAuthority),
			members: running(trustA, trustA), want: certificates{"b", "ab", "a"}},
		{name: "another key in its place: the same", from: without(a, func(p *PeerCertificates) { p.authority.Key = both.authority.Key }),
			members: running(trustA, trustA), want: certificates{"b", "ab", "a"}},
		{name: "a member does not trust the new one yet", from: both, members: running(trustBoth, trustA), want: certificates{"b", "ab", "a"}},
		{name: "a member's pod is about to come", from: both,
			members: append(running(trustBoth), MemberTrust{}), want: certificates{"b", "ab", "a"}},
		{name: "all trust the new one", from: both, members: running(trustBoth, trustBoth), want: certificates{"b", "ab", "b"}, renewed: true},
		{name: "no member accepts the old ones any more", from: both,
			members: running(trustBoth, trustA), after: 2 * year, want: certificates{"b", "ab", "b"}, renewed: true},
		{name: "the new ones may not be everywhere", from: byB,
			members: running(trustBoth, trustBoth), after: time.Minute, want: certificates{"b", "ab", "b"}},
		{name: "the new ones may not be everywhere, and their authority is old", from: byOldB,
			members: running(trustBoth, trustBoth), after: day + time.Minute, want: certificates{"b", "ab", "b"}},
		{name: "the former authority is dropped", from: byB,
			members: running(trustBoth, trustBoth), after: day, want: certificates{"b", "b", "b"}},
		{name: "it has been dropped", from: onlyB, members: running(trustBoth, trustBoth), after: day, want: certificates{"b", "b", "b"}},
		{name: "only the authority is left", from: without(a, noPeers),
			members: running(trustA, trustA), want: certificates{"a", "a", "a"}, renewed: true},
		{name: "a key is another's", from: without(a, func(p *PeerCertificates) { p.serverKey = p.clientKey }),
			members: running(trustA, trustA),
			want:    certificates{"a", "a", "a"}, renewed: true},
		{name: "what vouches for them is lost", from: without(a, func(p *PeerCertificates) { p.trusted = []byte("words") }),
			members: running(trustA, trustA),
			want:    certificates{"a", "a", "a"}, renewed: true},
		{name: "both are lost", members: running(trustA, trustA), lost: true},
		{name: "both are lost, and one member does not run", members: append(running(trustA), MemberTrust{trustA, false}), lost: true},
		{name: "only an authority is left that a member does not trust", from: without(both, noPeers),
			members: running(trustBoth, trustA), lost: true},
		{name: "both are lost, and none runs", members: []MemberTrust{{trustA, false}, {trustA, false}},
			want: certificates{"b", "b", "b"}, renewed: true},
		{name: "both are lost by one that has no peers", members: running(trustA), want: certificates{"b", "b", "b"}, renewed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := peersStart.Add(c.after)
			next, change, err := c.from.NextPublished(peersSpec, c.members, now)
			if c.lost {
				if !errors.Is(err, ErrTrustLost) {
					t.Errorf("got %v, %v", nameCertificates(next, a), err)
				}
				return
			}
			if got := nameCertificates(next, a); err != nil || got != c.want {
				t.Errorf("got %v, %v", got, err)
			}
			if renewed := !slices.Equal(next.server, c.from.server); renewed != c.renewed {
				t.Errorf("new certificates: %v", renewed)
			}
			if (change != "") == reflect.DeepEqual(next, c.from) {
				t.Errorf("it says %q of that", change)
			}
			if leaf, _ := next.leaf(); c.renewed && pki.IsLeafDue(leaf, now) {
				t.Error("they are due already")
			}
		})
	}
}

func TestTrustOf(t *testing.T) {
	pod := func(name string, status ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{AnnotationTrusted: "f"}},
			Status: corev1.PodStatus{ContainerStatuses: status}}
	}
	record := &databasev1alpha1.EtcdMembership{Members: []databasev1alpha1.EtcdRecordedMember{{Name: "e-0"}, {Name: "e-1"}}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	got := TrustOf(record, []corev1.Pod{
		pod("e-0", corev1.ContainerStatus{Name: "another", State: running}),
		pod("e-2", corev1.ContainerStatus{Name: AppName, State: running}),
	})
	if want := []MemberTrust{{"f", false}, {"f", true}, {"", false}}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
