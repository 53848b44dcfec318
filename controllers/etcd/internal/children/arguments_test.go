package children

import (
	"maps"
	"slices"
	"strings"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

func TestClientTLSArguments(t *testing.T) {
	ofCertificates := []string{"--cert-file", "--key-file", "--client-cert-auth", "--trusted-ca-file"}
	plain := builders.EtcdCluster("e").In("ns").Build()
	for _, c := range []struct {
		name string
		e    *databasev1alpha1.EtcdCluster
		want []string
	}{
		{"in the clear", plain, []string{
			"--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://$(POD_NAME).e-headless.ns.svc:2379"}},
		// With a trusted-ca-file etcd would ask clients for certificates.
		{"clients show nothing", fixture.Secured(databasev1alpha1.EtcdClientAuthNone), []string{
			"--listen-client-urls=https://0.0.0.0:2379", "--advertise-client-urls=https://$(POD_NAME).e-headless.ns.svc:2379",
			"--cert-file=/etc/etcd/certificates/tls.crt", "--key-file=/etc/etcd/certificates/tls.key"}},
		{"clients show certificates", fixture.Secured(databasev1alpha1.EtcdClientAuthRequired), []string{
			"--listen-client-urls=https://0.0.0.0:2379", "--advertise-client-urls=https://$(POD_NAME).e-headless.ns.svc:2379",
			"--cert-file=/etc/etcd/certificates/tls.crt", "--key-file=/etc/etcd/certificates/tls.key",
			"--client-cert-auth", "--trusted-ca-file=/etc/etcd/certificates/ca.crt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, argument := range arguments(inputsOf(c.e)) {
				name, _, _ := strings.Cut(argument, "=")
				if strings.Contains(name, "client-urls") || slices.Contains(ofCertificates, name) {
					got = append(got, argument)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q", got)
			}
			if !slices.Contains(arguments(inputsOf(c.e)), "--listen-metrics-urls=http://0.0.0.0:2381") {
				t.Error("probes find no server")
			}
		})
	}
}

func TestOnlyWhomToTrustTakesNewPods(t *testing.T) {
	one, two := authority.New("one"), authority.New("two")
	first, renewed, other := pki.PublishedIn(fixture.Issue(one)), pki.PublishedIn(fixture.Issue(one)), pki.PublishedIn(fixture.Issue(two))
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
			e := fixture.Secured(c.auth)
			template := func(i pki.Identity) map[string]string {
				in := inputsOf(e)
				in.Identity = i
				return statefulSet(in).Spec.Template.Annotations
			}
			if rolls := !maps.Equal(template(c.before), template(c.then)); rolls != c.rolls {
				t.Errorf("new pods: %v", rolls)
			}
		})
	}
}
