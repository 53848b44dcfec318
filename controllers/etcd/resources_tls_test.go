package etcd

import (
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// secured is EtcdCluster e in namespace ns with three members on record, with TLS.
func secured(auth databasev1alpha1.EtcdClientAuth) *databasev1alpha1.EtcdCluster {
	e := builders.EtcdCluster("e").In("ns").TLS("chosen", auth).Build()
	members := []databasev1alpha1.EtcdRecordedMember{{Name: "e-0"}, {Name: "e-1"}, {Name: "e-2"}}
	e.Status.Membership = &databasev1alpha1.EtcdMembership{Members: members}
	return e
}

// issueFor makes the Secret of a certificate for the members of e.
func issueFor(by *authority.Authority, edits ...func(*x509.Certificate)) map[string][]byte {
	named := func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, "*.e-headless.ns.svc") }
	return by.Issue("e.ns.svc", append([]func(*x509.Certificate){named}, edits...)...)
}

func TestWhatACertificateMustBeFor(t *testing.T) {
	by := authority.New("one")
	forServers := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	eachOf := func(members int) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			c.DNSNames = []string{"e.ns.svc"}
			for i := range members {
				c.DNSNames = append(c.DNSNames, fmt.Sprintf("e-%d.e-headless.ns.svc", i))
			}
		}
	}
	const none, required = databasev1alpha1.EtcdClientAuthNone, databasev1alpha1.EtcdClientAuthRequired
	for _, c := range []struct {
		name string
		auth databasev1alpha1.EtcdClientAuth
		data map[string][]byte
		want string
	}{
		{"the Service and any member", required, issueFor(by), ""},
		{"each member that there may be", none, issueFor(by, eachOf(5)), ""},
		{"those that there are now", none, issueFor(by, eachOf(3)), `Secret "chosen": the certificate does not name e-3.e-headless.ns.svc`},
		{"the Service alone", none, by.Issue("e.ns.svc"), `Secret "chosen": the certificate does not name e-0.e-headless.ns.svc`},
		{"the members alone", none, issueFor(by, func(c *x509.Certificate) { c.DNSNames = c.DNSNames[1:] }), `Secret "chosen": the certificate does not name e.ns.svc`},
		{"servers alone, and clients show none", none, issueFor(by, forServers), ""},
		{"servers alone", required, issueFor(by, forServers), `Secret "chosen": the certificate is not for clients, as tls.clientAuth asks for`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := secured(c.auth)
			_, problem := identityIn(e, resolve(e, nil), c.data, time.Now())
			if !strings.HasPrefix(problem, c.want) || (problem == "") != (c.want == "") {
				t.Errorf("got %q", problem)
			}
		})
	}
}

func TestClientTLSArguments(t *testing.T) {
	plain := builders.EtcdCluster("e").In("ns").Build()
	for _, c := range []struct {
		name string
		e    *databasev1alpha1.EtcdCluster
		want []string
	}{
		{"in the clear", plain, []string{"--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://$(POD_NAME).e-headless.ns.svc:2379"}},
		// With a trusted-ca-file etcd would ask clients for certificates.
		{"clients show nothing", secured(databasev1alpha1.EtcdClientAuthNone), []string{
			"--listen-client-urls=https://0.0.0.0:2379", "--advertise-client-urls=https://$(POD_NAME).e-headless.ns.svc:2379",
			"--cert-file=/etc/etcd/certificates/tls.crt", "--key-file=/etc/etcd/certificates/tls.key"}},
		{"clients show certificates", secured(databasev1alpha1.EtcdClientAuthRequired), []string{
			"--listen-client-urls=https://0.0.0.0:2379", "--advertise-client-urls=https://$(POD_NAME).e-headless.ns.svc:2379",
			"--cert-file=/etc/etcd/certificates/tls.crt", "--key-file=/etc/etcd/certificates/tls.key",
			"--client-cert-auth", "--trusted-ca-file=/etc/etcd/certificates/ca.crt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, one := range arguments(c.e, childInputs{spec: resolve(c.e, nil)}) {
				name, _, _ := strings.Cut(one, "=")
				if strings.Contains(name, "client-urls") || slices.Contains([]string{"--cert-file", "--key-file", "--client-cert-auth", "--trusted-ca-file"}, name) {
					got = append(got, one)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q", got)
			}
			if !slices.Contains(arguments(c.e, childInputs{spec: resolve(c.e, nil)}), "--listen-metrics-urls=http://0.0.0.0:2381") {
				t.Error("probes find nobody")
			}
		})
	}
}

// childOf returns the child of that type and name.
func childOf[T interface{ GetName() *string }](t *testing.T, e *databasev1alpha1.EtcdCluster, c childInputs, name string) T {
	t.Helper()
	for _, child := range desiredChildren(e, c) {
		if one, is := child.(T); is && *one.GetName() == name {
			return one
		}
	}
	t.Fatalf("there is no %q", name)
	panic("unreachable")
}

func TestOnlyWhomToTrustTakesNewPods(t *testing.T) {
	one, two := authority.New("one"), authority.New("two")
	first, renewed, other := pki.PublishedIn(issueFor(one)), pki.PublishedIn(issueFor(one)), pki.PublishedIn(issueFor(two))
	turned, both := first, first
	both.Authorities = pki.MergeAuthorities(first, other)
	turned.Authorities = pki.MergeAuthorities(other, first)
	for _, c := range []struct {
		name         string
		auth         databasev1alpha1.EtcdClientAuth
		before, then pki.Identity
		rolls        bool
	}{
		{"a renewed certificate", databasev1alpha1.EtcdClientAuthRequired, first, renewed, false},
		{"one more authority", databasev1alpha1.EtcdClientAuthRequired, first, both, true},
		{"one more that no client shows a certificate of", databasev1alpha1.EtcdClientAuthNone, first, both, false},
		{"the same ones in another order", databasev1alpha1.EtcdClientAuthRequired, both, turned, false},
		{"one less", databasev1alpha1.EtcdClientAuthRequired, both, other, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := secured(c.auth)
			template := func(i pki.Identity) map[string]string {
				set := childOf[*appsv1ac.StatefulSetApplyConfiguration](t, e, childInputs{spec: resolve(e, nil), identity: i}, "e")
				return set.Spec.Template.Annotations
			}
			if rolls := !maps.Equal(template(c.before), template(c.then)); rolls != c.rolls {
				t.Errorf("new pods: %v", rolls)
			}
		})
	}
}

func TestBinding(t *testing.T) {
	i := pki.PublishedIn(issueFor(authority.New("one")))
	e := secured(databasev1alpha1.EtcdClientAuthNone)
	e.Status.Membership.Members[2].Joined = true // a learner, which refuses clients
	want := map[string]string{"type": "etcd", "host": "e.ns.svc", "port": "2379", "uri": "https://e.ns.svc:2379",
		"ssl": "true", "ca.crt": string(i.Authorities),
		"endpoints": "https://e-0.e-headless.ns.svc:2379,https://e-1.e-headless.ns.svc:2379"}
	got := map[string]string{}
	for key, value := range childOf[*corev1ac.SecretApplyConfiguration](t, e, childInputs{spec: resolve(e, nil), identity: i}, "e-binding").Data {
		got[key] = string(value)
	}
	if !maps.Equal(got, want) {
		t.Errorf("with tls: %q", got)
	}
	e.Spec.TLS = nil
	data := childOf[*corev1ac.SecretApplyConfiguration](t, e, childInputs{spec: resolve(e, nil)}, "e-binding").Data
	if string(data["uri"]) != "http://e.ns.svc:2379" || !strings.HasPrefix(string(data["endpoints"]), "http://e-0.") || len(data) != 5 {
		t.Errorf("without: %q", data)
	}
}

// tlsMember is a member as clients see it.
type tlsMember struct {
	delivered pki.Identity // what its kubelet has brought
	trusted   []byte       // the authorities that its etcd has read when it started
	made      string       // what its pod says of them
}

func (m tlsMember) identity() pki.Identity {
	return pki.Identity{Certificate: m.delivered.Certificate, Authorities: m.trusted}
}

// tlsSimulation plays how certificates reach members.
type tlsSimulation struct {
	*testing.T
	e        *databasev1alpha1.EtcdCluster
	c        pki.Certificates
	members  []tlsMember
	restarts int
}

func (s *tlsSimulation) fleet() *fleet {
	f := &fleet{usage: map[string]*certificateUsage{}}
	for i, m := range s.members {
		name := s.e.Status.Membership.Members[i].Name
		f.usage[name] = &certificateUsage{authorities: m.made}
		f.usage[name].note(leafOf(m.delivered).Raw)
	}
	return f
}

func leafOf(i pki.Identity) *x509.Certificate { return pki.ParsePair(i.Certificate, i.Key) }

// check fails if the operator and a member refuse each other.
func (s *tlsSimulation) check() {
	s.Helper()
	for i, m := range s.members {
		if !s.c.Published.Trusts(m.identity(), time.Now()) {
			s.Fatalf("the operator refuses member %d", i)
		}
		if requiresCertificates(s.e) && !m.identity().Trusts(s.c.Published, time.Now()) {
			s.Fatalf("member %d refuses the operator", i)
		}
	}
}

// pass publishes what comes next, and brings it to one member after the other. It reports whether anything changed.
func (s *tlsSimulation) pass() bool {
	s.Helper()
	next := s.fleet().nextIdentity(s.e, s.c, time.Now())
	changed := next.ContentHash() != s.c.Published.ContentHash()
	s.c.Published = next
	s.check()
	for i := range s.members {
		m := &s.members[i]
		lags := !leafOf(m.delivered).Equal(leafOf(next)) || m.made != clientAuthorities(s.e, next)
		if early := s.fleet().nextIdentity(s.e, s.c, time.Now()); lags && !s.c.IsRenewal() && early.ContentHash() != next.ContentHash() {
			s.Fatalf("the next is published before member %d has the last", i)
		}
		m.delivered = next
		s.check()
		if made := clientAuthorities(s.e, next); made != m.made {
			m.trusted, m.made = next.Authorities, made
			s.restarts++
		}
		s.check()
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
		{"a renewed certificate", required, issueFor(one), 0},
		{"by another authority, that both are trusted and then the new one", required, issueFor(two), 2},
		{"by another authority, where no client shows a certificate", none, issueFor(two), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &tlsSimulation{T: t, e: secured(c.auth)}
			first := pki.PublishedIn(issueFor(one))
			s.c = pki.Certificates{Published: first, Wanted: pki.PublishedIn(c.wanted)}
			for range 3 {
				s.members = append(s.members, tlsMember{first, first.Authorities, clientAuthorities(s.e, first)})
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
			if s.c.Published.ContentHash() != s.c.Wanted.ContentHash() || len(s.fleet().lagging(s.e, s.c.Published)) > 0 {
				t.Error("the Secret's certificate is not in use")
			}
		})
	}
}

func TestAMemberThatWasNotSeenLags(t *testing.T) {
	e, i := secured(databasev1alpha1.EtcdClientAuthRequired), pki.PublishedIn(issueFor(authority.New("one")))
	s := &tlsSimulation{T: t, e: e, members: []tlsMember{
		{i, i.Authorities, clientAuthorities(e, i)},
		{i, i.Authorities, "former"},
		{pki.PublishedIn(issueFor(authority.New("two"))), i.Authorities, clientAuthorities(e, i)},
	}}
	f := s.fleet() // of a look before e-3 was recorded
	e.Status.Membership.Members = append(e.Status.Membership.Members, databasev1alpha1.EtcdRecordedMember{Name: "e-3"})
	if got := f.lagging(e, i); !slices.Equal(got, []string{"e-1", "e-2", "e-3"}) {
		t.Errorf("got %v", got)
	}
}
