package redis

import (
	"bytes"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

func issue(by *authority.Authority, edits ...func(*x509.Certificate)) map[string][]byte {
	return by.Issue("a.ns.svc", edits...)
}

func identityOf(secret map[string][]byte) identity {
	return identity{secret["tls.crt"], secret["tls.key"], secret["ca.crt"]}
}

func secured(auth cachev1alpha1.RedisClientAuth) *cachev1alpha1.Redis {
	r := sized(3)
	r.Namespace = "ns"
	r.Spec.TLS = &cachev1alpha1.RedisTLS{SecretName: "chosen", ClientAuth: auth}
	return r
}

func TestWhatASecretMustHold(t *testing.T) {
	by, now := authority.New("one"), time.Now()
	good := issue(by)
	but := func(key string, value []byte) map[string][]byte {
		other := maps.Clone(good)
		other[key] = value
		return other
	}
	forServers := issue(by, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	for _, c := range []struct {
		reason  string
		data    map[string][]byte
		auth    cachev1alpha1.RedisClientAuth
		problem string
	}{
		{"all that is needed", good, "", ""},
		{"and for clients", good, cachev1alpha1.RedisClientAuthRequired, ""},
		{"no Secret", nil, "", `there is no Secret "chosen"`},
		{"an empty one", map[string][]byte{}, "", `no key "tls.crt"`},
		{"no authority", but("ca.crt", nil), "", `no key "ca.crt"`},
		{"no key", but("tls.key", nil), "", `no key "tls.key"`},
		{"another's key", but("tls.key", issue(by)["tls.key"]), "", "not a certificate and its key"},
		{"words for a certificate", but("tls.crt", []byte("words")), "", "not a certificate and its key"},
		{"words for an authority", but("ca.crt", []byte("words")), "", "ca.crt holds something"},
		{"another authority", but("ca.crt", authority.New("two").PEM()), "", "no authority in ca.crt vouches"},
		{"another host", issue(by, func(c *x509.Certificate) { c.DNSNames = []string{"b.ns.svc"} }), "", "does not name a.ns.svc"},
		{"any host of the namespace", issue(by, func(c *x509.Certificate) { c.DNSNames = []string{"*.ns.svc"} }), "", ""},
		{"expired", issue(by, func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Minute) }), "", "has expired on"},
		{"not yet valid", issue(by, func(c *x509.Certificate) { c.NotBefore = now.Add(time.Minute) }), "", "is not valid before"},
		{"of no use to clients, who show none", forServers, cachev1alpha1.RedisClientAuthNone, ""},
		{"of no use to clients", forServers, cachev1alpha1.RedisClientAuthOptional, "tls.clientAuth"},
		{"of no use to servers", issue(by, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), "", "not for servers"},
		{"of any use", issue(by, func(c *x509.Certificate) { c.ExtKeyUsage = nil }), cachev1alpha1.RedisClientAuthRequired, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			found, problem := identityIn(secured(c.auth), c.data, now)
			if !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") || found.none() != (problem != "") {
				t.Errorf("got %q, want %q", problem, c.problem)
			}
			if key := string(c.data["tls.key"]); key != "" && strings.Contains(problem, key) {
				t.Error("the key is in the message")
			}
		})
	}
}

// Whatever changes, those who are a step behind and those who are not trust one
// another, each as a server and as a client.
func TestCertificatesChangeOver(t *testing.T) {
	one, two := authority.New("one"), authority.New("two")
	old, renewed, other, third := identityOf(issue(one)), identityOf(issue(one)), identityOf(issue(two)), identityOf(issue(authority.New("three")))
	both := other
	both.authorities = append(bytes.Clone(two.PEM()), one.PEM()...)
	for _, c := range []struct {
		reason string
		wanted []identity // one after the other, the next before the last has arrived
		steps  int
	}{
		{"nothing new", []identity{old}, 0},
		{"renewed", []identity{renewed}, 1},
		{"by another authority", []identity{other}, 3},
		{"by another, the old still trusted", []identity{both}, 2},
		{"the other way in the middle of it", []identity{other, old}, 2},
		{"a third in the middle of it", []identity{other, third}, 4},
	} {
		t.Run(c.reason, func(t *testing.T) {
			now, published, steps := time.Now(), old, 0
			for i := 0; i < len(c.wanted) || published.version() != c.wanted[len(c.wanted)-1].version(); i++ {
				wanted := c.wanted[min(i, len(c.wanted)-1)]
				next := certificates{published: published, wanted: wanted}.next(now)
				if !next.trusts(published, now) || !published.trusts(next, now) {
					t.Fatalf("step %d: they do not trust one another", steps)
				}
				if next.version() != published.version() {
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

// Or the renewal of one that has expired could not be handed out any more.
func TestAnExpiredCertificateIsStillSpokenWith(t *testing.T) {
	old, renewed := issue(authority.New("one")), issue(authority.New("two"))
	late := time.Now().Add(90 * time.Minute) // the certificates hold an hour, the authorities two
	if _, problem := identityIn(secured(""), old, late); !strings.Contains(problem, "expired") {
		t.Errorf("got %q", problem)
	}
	if !identityOf(old).trusts(identityOf(old), late) || identityOf(old).trusts(identityOf(renewed), late) {
		t.Error("its age is all that is let pass")
	}
}

func TestPublishedIsReadAsWritten(t *testing.T) {
	written := identityOf(issue(authority.New("one")))
	data := func() map[string][]byte {
		stored := map[string][]byte{}
		for key, value := range written.values() {
			stored[key] = []byte(value)
		}
		return stored
	}
	if read := publishedIn(data()); read.version() != written.version() || !bytes.Equal(read.key, written.key) {
		t.Errorf("got %v", read)
	}
	for _, key := range slices.Sorted(maps.Keys(data())) {
		broken := data()
		broken[key] = []byte("words")
		if got := publishedIn(broken); !got.none() && key != tlsConfKey { // which is written anew
			t.Errorf("with other words in %s it is %v", key, got)
		}
	}
	if !publishedIn(nil).none() {
		t.Error("nothing is something")
	}
}
