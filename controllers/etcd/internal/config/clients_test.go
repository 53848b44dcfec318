package config

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

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
		{"the Service and any member", required, fixture.Issue(by), ""},
		{"each member that there may be", none, fixture.Issue(by, eachOf(5)), ""},
		{"those that there are now", none, fixture.Issue(by, eachOf(3)), `Secret "chosen": the certificate does not name e-3.e-headless.ns.svc`},
		{"the Service alone", none, by.Issue("e.ns.svc"), `Secret "chosen": the certificate does not name e-0.e-headless.ns.svc`},
		{"the members alone", none, fixture.Issue(by, func(c *x509.Certificate) { c.DNSNames = c.DNSNames[1:] }),
			`Secret "chosen": the certificate does not name e.ns.svc`},
		{"servers alone, and clients show none", none, fixture.Issue(by, forServers), ""},
		{"servers alone", required, fixture.Issue(by, forServers),
			`Secret "chosen": the certificate is not for clients, as tls.clientAuth asks for`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := fixture.Secured(c.auth)
			_, problem := IdentityIn(Resolve(e, &appsv1.StatefulSet{}, nil), c.data, time.Now())
			if !strings.HasPrefix(problem, c.want) || (problem == "") != (c.want == "") {
				t.Errorf("got %q", problem)
			}
		})
	}
}
