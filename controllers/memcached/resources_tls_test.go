package memcached

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// host is the Service of an object from newMemcached or newSecured.
const host = "a.n.svc"

func identityOf(secret map[string][]byte) pki.Identity {
	return pki.Identity{Certificate: secret["tls.crt"], Key: secret["tls.key"], Authorities: secret["ca.crt"]}
}

func newSecured(change func(*cachev1alpha1.MemcachedTLS)) *cachev1alpha1.Memcached {
	return newMemcached(func(s *cachev1alpha1.MemcachedSpec) {
		s.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "chosen", Mode: cachev1alpha1.MemcachedTLSRequired, PlaintextPort: 11212}
		if change != nil {
			change(s.TLS)
		}
	})
}

// Items outlive a renewal of the certificate, but not a change of the authority: the old one must no longer be trusted
// some day, and memcached forgets none while it runs.
func TestWhatRollsThePods(t *testing.T) {
	by := authority.New("one")
	template := func(i pki.Identity) string {
		return encode(t, nodeStatefulSet(newSecured(nil), inputs{image: image, identity: i}).Spec.Template)
	}
	first := identityOf(by.Issue(host))
	if template(first) != template(identityOf(by.Issue(host))) {
		t.Error("a renewed certificate takes new pods")
	}
	if template(first) == template(identityOf(authority.New("two").Issue(host))) {
		t.Error("another authority takes no new pods")
	}
	if text := template(first); strings.Contains(text, "BEGIN") || !strings.Contains(text, `"secretName":"a-certificates"`) {
		t.Error(text)
	}
}

func TestThePortInTheClearIsOfferedWhenItIsOpen(t *testing.T) {
	required, optional := cachev1alpha1.MemcachedTLSRequired, cachev1alpha1.MemcachedTLSOptional
	for _, c := range []struct {
		reason         string
		m              *cachev1alpha1.Memcached
		pods, services []string
	}{
		{"none, and nodes change port by and by", newMemcached(nil), []string{"memcached 11211"}, []string{"11211 to memcached"}},
		{"a closed port", newSecured(func(over *cachev1alpha1.MemcachedTLS) { over.Mode = required }),
			[]string{"memcached 11211"}, []string{"11211 to memcached"}},
		{"open, also in pods that have never heard of TLS", newSecured(func(over *cachev1alpha1.MemcachedTLS) { over.Mode = optional }),
			[]string{"memcached 11211", "plaintext 11212"}, []string{"11211 to 11211", "11212 to 11212"}},
	} {
		if got := podPorts(c.m); !slices.Equal(got, c.pods) {
			t.Errorf("%s: pods have %v", c.reason, got)
		}
		for _, service := range []*corev1ac.ServiceApplyConfiguration{clientService(c.m), headlessService(c.m)} {
			if got := servicePortTargets(service); !slices.Equal(got, c.services) {
				t.Errorf("%s: %s leads %v", c.reason, *service.Name, got)
			}
		}
	}
}

func podPorts(m *cachev1alpha1.Memcached) []string {
	var list []string
	for _, port := range nodeStatefulSet(m, minimalInputs).Spec.Template.Spec.Containers[0].Ports {
		list = append(list, *port.Name+" "+strconv.Itoa(int(*port.ContainerPort)))
	}
	return list
}

func servicePortTargets(service *corev1ac.ServiceApplyConfiguration) []string {
	var list []string
	for _, port := range service.Spec.Ports {
		list = append(list, strconv.Itoa(int(*port.Port))+" to "+port.TargetPort.String())
	}
	return list
}
