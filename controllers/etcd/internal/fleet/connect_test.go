package fleet

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// tlsMember is a member as clients see it.
type tlsMember struct {
	delivered pki.Identity // what its kubelet has brought
	trusted   []byte       // the authorities that its etcd has read when it started
	made      string       // what its pod says of them
}

func (t tlsMember) identity() pki.Identity {
	return pki.Identity{Certificate: t.delivered.Certificate, Authorities: t.trusted}
}

// tlsSimulation plays how certificates reach members.
type tlsSimulation struct {
	*testing.T
	e        *databasev1alpha1.EtcdCluster
	c        pki.Certificates
	members  []tlsMember
	restarts int
}

func (t *tlsSimulation) spec() membership.Spec {
	return config.Resolve(t.e, &appsv1.StatefulSet{}, nil)
}

func (t *tlsSimulation) newFleet() *Fleet {
	f := &Fleet{Cluster: t.e, Spec: t.spec(), Certificates: t.c, Clock: clock.RealClock{}, usage: map[string]*certificateUsage{}}
	for i, m := range t.members {
		name := t.e.Status.Membership.Members[i].Name
		f.usage[name] = &certificateUsage{authorities: m.made}
		f.usage[name].note(leafOf(m.delivered).Raw)
	}
	return f
}

func leafOf(i pki.Identity) *x509.Certificate { return pki.ParsePair(i.Certificate, i.Key) }

// check fails if the operator and a member refuse each other.
func (t *tlsSimulation) check() {
	t.Helper()
	for i, m := range t.members {
		if !t.c.Published.Trusts(m.identity(), time.Now()) {
			t.Fatalf("the operator refuses member %d", i)
		}
		if t.spec().RequiresCertificates() && !m.identity().Trusts(t.c.Published, time.Now()) {
			t.Fatalf("member %d refuses the operator", i)
		}
	}
}

// pass publishes what comes next, and brings it to one member after the other. It reports whether anything changed.
func (t *tlsSimulation) pass() bool {
	t.Helper()
	next := t.newFleet().NextPublished()
	changed := next.ContentHash() != t.c.Published.ContentHash()
	t.c.Published = next
	t.check()
	for i := range t.members {
		m := &t.members[i]
		lags := !leafOf(m.delivered).Equal(leafOf(next)) || m.made != config.ClientAuthorities(t.spec(), next)
		if early := t.newFleet().NextPublished(); lags && !t.c.IsRenewal() && early.ContentHash() != next.ContentHash() {
			t.Fatalf("the next is published before member %d has the last", i)
		}
		m.delivered = next
		t.check()
		if made := config.ClientAuthorities(t.spec(), next); made != m.made {
			m.trusted, m.made = next.Authorities, made
			t.restarts++
		}
		t.check()
	}
	return changed
}

func TestClientsCertificatesChangeOver(t *testing.T) {
	const none, required = databasev1alpha1.EtcdClientAuthNone, databasev1alpha1.EtcdClientAuthRequired
	one, two := authority.New("one"), authority.New("two")
	for _, c := range []struct {
		name     string
		auth     databasev1alpha1.EtcdClientAuth
		wanted   map[string][]byte
		restarts int // of each member
	}{
		{"a renewed certificate", required, fixture.Issue(one), 0},
		{"by another authority, that both are trusted and then the new one", required, fixture.Issue(two), 2},
		{"by another authority, where no client shows a certificate", none, fixture.Issue(two), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &tlsSimulation{T: t, e: fixture.Secured(c.auth)}
			first := pki.PublishedIn(fixture.Issue(one))
			s.c = pki.Certificates{Published: first, Wanted: pki.PublishedIn(c.wanted)}
			for range 3 {
				s.members = append(s.members, tlsMember{first, first.Authorities, config.ClientAuthorities(s.spec(), first)})
			}
			passes := 0
			for s.pass() {
				if passes++; passes > 9 {
					t.Fatal("it never ends")
				}
			}
			if s.restarts != c.restarts*len(s.members) {
				t.Errorf("%d restarts", s.restarts)
			}
			if s.c.Published.ContentHash() != s.c.Wanted.ContentHash() || len(s.newFleet().Lagging()) > 0 {
				t.Error("the Secret's certificate is not in use")
			}
		})
	}
}

func TestAMemberThatWasNotSeenLags(t *testing.T) {
	e, i := fixture.Secured(databasev1alpha1.EtcdClientAuthRequired), pki.PublishedIn(fixture.Issue(authority.New("one")))
	s := &tlsSimulation{T: t, e: e, c: pki.Certificates{Published: i}}
	s.members = []tlsMember{
		{i, i.Authorities, config.ClientAuthorities(s.spec(), i)},
		{i, i.Authorities, "former"},
		{pki.PublishedIn(fixture.Issue(authority.New("two"))), i.Authorities, config.ClientAuthorities(s.spec(), i)},
	}
	f := s.newFleet() // of a look before e-3 was recorded
	e.Status.Membership.Members = append(e.Status.Membership.Members, databasev1alpha1.EtcdRecordedMember{Name: "e-3"})
	if got := f.Lagging(); !slices.Equal(got, []string{"e-1", "e-2", "e-3"}) {
		t.Errorf("got %v", got)
	}
}
