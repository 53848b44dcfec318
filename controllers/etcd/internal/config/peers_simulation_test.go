package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

// simulatedMember has read the authorities when it started, and shows what its kubelet has brought.
type simulatedMember struct {
	pod   string // the annotation that it was made with
	trust []byte
	shows PeerCertificates
}

// refuses says why the member refuses the other.
func (s simulatedMember) refuses(other simulatedMember, host string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.trust)
	server, client := pki.ParsePair(other.shows.server, other.shows.serverKey), pki.ParsePair(other.shows.connecting, other.shows.clientKey)
	_, err := server.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: host})
	_, alsoErr := client.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return errors.Join(err, alsoErr)
}

// simulation is a cluster of three, and what the operator has published for it.
type simulation struct {
	*testing.T
	now         time.Time
	published   PeerCertificates
	members     []simulatedMember
	changes     int
	authorities map[string]bool // that there were
}

// newPod is a member in a pod that is made now.
func (s *simulation) newPod() simulatedMember {
	return simulatedMember{s.published.TrustAnnotation()[AnnotationTrusted], s.published.trusted, s.published}
}

// check fails the test if a member refuses another.
func (s *simulation) check(when string) {
	s.Helper()
	for i, m := range s.members {
		for j, other := range s.members {
			if err := m.refuses(other, peersSpec.Host(fmt.Sprintf("e-%d", j)), s.now); err != nil {
				s.Fatalf("%s, after %s: member %d refuses %d: %v", when, s.now.Sub(peersStart), i, j, err)
			}
		}
	}
}

// pass is one of the operator. It reports whether anything is new.
func (s *simulation) pass() bool {
	var trust []MemberTrust
	for _, m := range s.members {
		trust = append(trust, MemberTrust{m.pod, true})
	}
	next, change := step(s.T, s.published, trust, s.now)
	if change != "" {
		s.published, s.authorities[string(next.authority.Certificate)] = next, true
		s.changes++
		s.check("the operator has published new ones")
	}
	return change != ""
}

// restart restarts each server in its pod, with files that the kubelet has brought.
func (s *simulation) restart() {
	for i := range s.members {
		s.members[i].trust, s.members[i].shows = s.published.trusted, s.published
		s.check("one has restarted")
	}
}

// deliver brings the files to the members, one after the other.
func (s *simulation) deliver(after func(i int)) {
	for i := range s.members {
		if !slices.Equal(s.members[i].shows.server, s.published.server) {
			s.members[i].shows = s.published
			s.check("the kubelet has brought new ones")
		}
		after(i)
	}
}

// replace replaces a pod that is outdated.
func (s *simulation) replace(i int) {
	if s.members[i].pod != s.published.TrustAnnotation()[AnnotationTrusted] {
		s.members[i] = s.newPod()
		s.check("one has got a new pod")
		s.pass() // in the middle of a rolling restart
	}
}

// In twelve years, with an authority lost and another in the middle of its replacement, at no time a member refuses another:
// whichever of them have got a new pod, restarted in theirs, or have not been brought the new certificates yet.
func TestMembersTrustEachOtherAtAllTimes(t *testing.T) {
	s := &simulation{T: t, now: peersStart, authorities: map[string]bool{}}
	s.published, _ = step(t, PeerCertificates{}, nil, s.now)
	s.members = []simulatedMember{s.newPod(), s.newPod(), s.newPod()}
	for ; s.now.Before(peersStart.Add(12 * year)); s.now = s.now.Add(30 * day) {
		if s.now.Equal(peersStart.Add(90 * day)) {
			s.published.authority = pki.Authority{}
		}
		for s.pass() {
			s.restart()
			if len(s.authorities) == 1 {
				s.published.authority = pki.Authority{} // in the middle
			}
		}
		s.deliver(s.replace)
		s.deliver(func(int) {}) // long before the next tick
	}
	if len(s.authorities) < 3 || s.changes < 15 {
		t.Errorf("%d authorities and %d changes are too few for a test", len(s.authorities), s.changes)
	}
	if trusted, _ := measured.Bundle(s.published.trusted); len(trusted) != 1 {
		t.Errorf("%d authorities are trusted in the end", len(trusted))
	}
}
