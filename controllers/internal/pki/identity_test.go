package pki

import (
	"crypto/x509"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

const host = "a.ns.svc"

func issue(by *authority.Authority, edits ...func(*x509.Certificate)) map[string][]byte {
	return by.Issue(host, edits...)
}

func identityOf(secret map[string][]byte) Identity {
	return Identity{secret["tls.crt"], secret["tls.key"], secret["ca.crt"]}
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
		client  bool
		problem string
	}{
		{"all that is needed", good, false, ""},
		{"all that clients need", good, true, ""},
		{"no Secret", nil, false, `there is no Secret "chosen"`},
		{"an empty one", map[string][]byte{}, false, `no key "tls.crt"`},
		{"no authority", but("ca.crt", nil), false, `no key "ca.crt"`},
		{"no key", but("tls.key", nil), false, `no key "tls.key"`},
		{"another's key", but("tls.key", issue(by)["tls.key"]), false, "not a certificate and its key"},
		{"words for a certificate", but("tls.crt", []byte("words")), false, "not a certificate and its key"},
		{"words for an authority", but("ca.crt", []byte("words")), false, "ca.crt holds something"},
		{"another authority", but("ca.crt", authority.New("two").PEM()), false, "no authority in ca.crt vouches"},
		{"another host", issue(by, func(c *x509.Certificate) { c.DNSNames = []string{"b.ns.svc"} }), false, "does not name a.ns.svc"},
		{"any host of the namespace", issue(by, func(c *x509.Certificate) { c.DNSNames = []string{"*.ns.svc"} }), false, ""},
		{"expired", issue(by, func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Minute) }), false, "has expired on"},
		{"valid in the future alone", issue(by, func(c *x509.Certificate) { c.NotBefore = now.Add(time.Minute) }), false, "is not valid before"},
		{"of no use to clients, who show none", forServers, false, ""},
		{"of no use to clients", forServers, true, "tls.clientAuth"},
		{"of no use to servers", issue(by, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), false,
			"not for servers"},
		{"of any use", issue(by, func(c *x509.Certificate) { c.ExtKeyUsage = nil }), true, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			found, problem := FromSecret("chosen", c.data, []string{host}, c.client, now)
			if !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") || found.IsEmpty() != (problem != "") {
				t.Errorf("got %q, want %q", problem, c.problem)
			}
			if key := string(c.data["tls.key"]); key != "" && strings.Contains(problem, key) {
				t.Error("the key is in the message")
			}
		})
	}
}

func TestNextChange(t *testing.T) {
	// The certificate is valid for an hour, the authority for two. Their times are whole seconds.
	now := time.Now().Truncate(time.Second)
	by := authority.New("one")
	starts := func(at time.Time) map[string][]byte {
		return issue(by, func(c *x509.Certificate) { c.NotBefore = at })
	}
	for _, c := range []struct {
		reason string
		data   map[string][]byte
		after  time.Duration // that it is looked at
		due    time.Duration
	}{
		{"no Secret", nil, 0, 0},
		{"no certificates", map[string][]byte{"tls.crt": []byte("words"), "ca.crt": []byte("words")}, 0, 0},
		{"when it starts", starts(now.Add(time.Minute)), 0, time.Minute + time.Second},
		{"just when it starts", starts(now), 0, time.Second},
		{"when it ends", issue(by), 0, time.Hour + time.Second},
		{"just when it ends", issue(by), time.Hour, time.Second},
		{"when its authority ends, which it shall outlive", issue(by), time.Hour + time.Minute, time.Hour - time.Minute + time.Second},
		{"never, when all have ended", issue(by), 2*time.Hour + time.Minute, 0},
		{"in the year 9999", issue(by, func(c *x509.Certificate) { c.NotAfter = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }),
			3 * time.Hour, 1<<63 - 1},
	} {
		t.Run(c.reason, func(t *testing.T) {
			// The certificates are issued some moments after now.
			if due := NextChange(c.data, now.Add(c.after)); due < c.due || due-c.due > 10*time.Second {
				t.Errorf("got %s, want %s", due, c.due)
			}
		})
	}
}

func TestEachHostIsNamed(t *testing.T) {
	now := time.Now()
	data := issue(authority.New("one"), func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, "*.a-headless.ns.svc") })
	for reason, c := range map[string]struct {
		hosts []string
		want  string
	}{
		"all": {[]string{host, "a-0.a-headless.ns.svc", "a-1.a-headless.ns.svc"}, ""},
		"the last is missing": {[]string{host, "a-0.a-headless.ns.svc", "a-0.b-headless.ns.svc"},
			`Secret "chosen": the certificate does not name a-0.b-headless.ns.svc`},
	} {
		if _, problem := FromSecret("chosen", data, c.hosts, false, now); problem != c.want {
			t.Errorf("%s: got %q", reason, problem)
		}
	}
}

// Otherwise, the renewal of an expired certificate could no longer be handed out.
func TestAnExpiredCertificateIsStillSpokenWith(t *testing.T) {
	old, renewed := issue(authority.New("one")), issue(authority.New("two"))
	late := time.Now().Add(90 * time.Minute) // the certificates hold an hour, the authorities two
	if _, problem := FromSecret("chosen", old, []string{host}, false, late); !strings.Contains(problem, "expired") {
		t.Errorf("got %q", problem)
	}
	if !identityOf(old).Trusts(identityOf(old), late) || identityOf(old).Trusts(identityOf(renewed), late) {
		t.Error("its age is all that is let pass")
	}
}
