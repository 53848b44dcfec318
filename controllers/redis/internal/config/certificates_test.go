package config_test

import (
	"bytes"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// Whatever changes, those who are a step behind and those who are not trust one
// another, each as a server and as a client.
func TestCertificatesChangeOver(t *testing.T) {
	one, two := authority.New("one"), authority.New("two")
	old, renewed, other, third := IdentityOf(Issue(one)), IdentityOf(Issue(one)), IdentityOf(Issue(two)), IdentityOf(Issue(authority.New("three")))
	both := other
	both.Authorities = append(bytes.Clone(two.PEM()), one.PEM()...)
	for _, c := range []struct {
		reason string
		wanted []Identity // one after the other, the next before the last has arrived
		steps  int
	}{
		{"nothing new", []Identity{old}, 0},
		{"renewed", []Identity{renewed}, 1},
		{"by another authority", []Identity{other}, 3},
		{"by another, the old still trusted", []Identity{both}, 2},
		{"the other way in the middle of it", []Identity{other, old}, 2},
		{"a third in the middle of it", []Identity{other, third}, 4},
	} {
		t.Run(c.reason, func(t *testing.T) {
			now, published, steps := time.Now(), old, 0
			for i := 0; i < len(c.wanted) || published.ContentHash() != c.wanted[len(c.wanted)-1].ContentHash(); i++ {
				wanted := c.wanted[min(i, len(c.wanted)-1)]
				next := Certificates{Published: published, Wanted: wanted}.NextIdentity(now)
				if !next.Trusts(published, now) || !published.Trusts(next, now) {
					t.Fatalf("step %d: they do not trust one another", steps)
				}
				if next.ContentHash() != published.ContentHash() {
					steps++
				}
				if published = next; steps > 10 {
					t.Fatal("it never ends")
				}
			}
			if steps != c.steps {
				t.Errorf("%d steps, want %d", steps, c.steps)
			}
		})
	}
}

func TestOnlyWhereCertificatesAreAskedForIsOursOneForClients(t *testing.T) {
	forServers := Issue(authority.New("one"), func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	for auth, problem := range map[cachev1alpha1.RedisClientAuth]string{
		"":                                    "",
		cachev1alpha1.RedisClientAuthNone:     "",
		cachev1alpha1.RedisClientAuthOptional: "tls.clientAuth",
		cachev1alpha1.RedisClientAuthRequired: "tls.clientAuth",
	} {
		if _, got := Resolve(Secured(auth)).IdentityIn(forServers, time.Now()); !strings.Contains(got, problem) || (got == "") != (problem == "") {
			t.Errorf("%q: got %q, want %q", auth, got, problem)
		}
	}
}

func TestPublishedIsReadAsWritten(t *testing.T) {
	written := IdentityOf(Issue(authority.New("one")))
	data := func() map[string][]byte {
		stored := map[string][]byte{}
		for key, value := range IdentityData(written) {
			stored[key] = []byte(value)
		}
		return stored
	}
	if read := PublishedIn(data()); read.ContentHash() != written.ContentHash() || !bytes.Equal(read.Key, written.Key) {
		t.Errorf("got %v", read)
	}
	for _, key := range slices.Sorted(maps.Keys(data())) {
		broken := data()
		broken[key] = []byte("words")
		if got := PublishedIn(broken); !got.IsEmpty() && key != TLSConfKey { // which is written anew
			t.Errorf("with other words in %s it is %v", key, got)
		}
	}
	if !PublishedIn(nil).IsEmpty() {
		t.Error("nothing is something")
	}
}
