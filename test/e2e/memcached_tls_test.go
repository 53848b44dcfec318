package e2e

import (
	"context"
	"crypto/tls"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

var _ = Describe("Memcached over TLS", longest, func() {
	var by *authority.Authority
	issue := func() map[string][]byte { return by.Issue("cache." + namespace + ".svc") }
	// secured makes a cache with a certificate of ours.
	secured := func(ctx context.Context, change func(*cachev1alpha1.MemcachedSpec)) (*cachev1alpha1.Memcached, *corev1.Secret) {
		GinkgoHelper()
		certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cache-tls"}, Type: corev1.SecretTypeTLS, Data: issue()}
		create(ctx, certificate)
		m := builders.Memcached("cache").Memory("16Mi").TLS(certificate.Name, "").
			With(change).Build()
		create(ctx, m)
		eventuallyReady(ctx, m)
		eventually(ctx, m, commonv1.ConditionCertificatesInSync, metav1.ConditionTrue)
		return m, certificate
	}
	BeforeEach(func() { by = authority.New("e2e") })

	It("admits no client without TLS or without a certificate, and loads a renewed one while its items stay", func(ctx SpecContext) {
		create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "users"}, StringData: map[string]string{"users": "app:secret\n"}})
		m, certificate := secured(ctx, func(s *cachev1alpha1.MemcachedSpec) {
			s.TLS.ClientAuth = cachev1alpha1.MemcachedClientAuthRequire
			s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "users"} // the operator has to log in, too
		})
		shown := by.Issue("a client")
		known := trusting(by.PEM(), m.Name)
		pair, err := tls.X509KeyPair(shown["tls.crt"], shown["tls.key"])
		Expect(err).NotTo(HaveOccurred())
		known.Certificates = []tls.Certificate{pair}
		untrusted := authority.New("another").Issue("a client")
		other, err := tls.X509KeyPair(untrusted["tls.crt"], untrusted["tls.key"])
		Expect(err).NotTo(HaveOccurred())
		foreign := trusting(by.PEM(), m.Name)
		foreign.Certificates = []tls.Certificate{other}

		spoken(ctx, traffic.Secured{Network: network, Config: known}, m, func(g Gomega, c *traffic.Memcached) {
			g.Expect(c.Login("app", "secret")).To(Succeed())
			g.Expect(c.Set("greeting", "hello")).To(Succeed())
		})
		for who, over := range map[string]traffic.Network{
			"in the clear":          network,
			"without a certificate": traffic.Secured{Network: network, Config: trusting(by.PEM(), m.Name)},
			"with another's":        traffic.Secured{Network: network, Config: foreign},
		} {
			Expect(asks(ctx, over, m, m.Spec.Port)).NotTo(Succeed(), who)
		}

		before, renewed := podUIDs(ctx, "memcached", m.Name), issue()
		edit(ctx, certificate, func(s *corev1.Secret) { s.Data = renewed })
		Eventually(presented).WithContext(ctx).WithArguments(m.Name, m.Spec.Port, renewed["ca.crt"]).Should(Equal(leaf(renewed)))
		eventually(ctx, m, commonv1.ConditionCertificatesInSync, metav1.ConditionTrue)
		Expect(podUIDs(ctx, "memcached", m.Name)).To(Equal(before))
		spoken(ctx, traffic.Secured{Network: network, Config: known}, m, func(g Gomega, c *traffic.Memcached) {
			g.Expect(c.Login("app", "secret")).To(Succeed())
			value, _, err := c.Get("greeting")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(value).To(Equal("hello"))
		})
	})

	It("has a second port in the clear where it is optional", func(ctx SpecContext) {
		m, _ := secured(ctx, func(s *cachev1alpha1.MemcachedSpec) { s.TLS.Mode = cachev1alpha1.MemcachedTLSOptional })
		over := traffic.Secured{Network: network, Config: trusting(by.PEM(), m.Name)}
		Eventually(asks).WithArguments(ctx, over, m, m.Spec.Port).Should(Succeed()) // as soon as the Service routes
		Eventually(asks).WithArguments(ctx, network, m, m.Spec.TLS.PlaintextPort).Should(Succeed())
		Expect(asks(ctx, network, m, m.Spec.Port)).NotTo(Succeed())
	})

	It("comes to a cache whose clients in the clear continue at the port that they know", func(ctx SpecContext) {
		create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cache-tls"}, Type: corev1.SecretTypeTLS, Data: issue()})
		m := builders.Memcached("cache").Size(2).Memory("16Mi").
			With(func(s *cachev1alpha1.MemcachedSpec) {
				s.Rollout = &cachev1alpha1.MemcachedRollout{MinReadySeconds: ptr.To[int32](1)}
			}).Build()
		create(ctx, m)
		eventuallyReady(ctx, m)
		Eventually(func(g Gomega) { // those that are not available are replaced at once
			var set appsv1.StatefulSet
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(m), &set)).To(Succeed())
			g.Expect(set.Status.AvailableReplicas).To(BeEquivalentTo(2))
		}).WithContext(ctx).Should(Succeed())
		old, before := m.Spec.Port, podUIDs(ctx, "memcached", m.Name)
		clearClientsServed := func() {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				for range 10 { // the Service leads to either node
					g.Expect(asks(ctx, network, m, old)).To(Succeed())
				}
			}).WithContext(ctx).Should(Succeed())
		}
		clearClientsServed()

		edit(ctx, m, func(m *cachev1alpha1.Memcached) {
			m.Spec.Port = old + 1
			m.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "cache-tls", Mode: cachev1alpha1.MemcachedTLSOptional, PlaintextPort: old}
			m.Spec.NodeSelector = map[string]string{"no-such": "node"}
		})
		// The rollout stands at its first node, which finds no place: the other is as before.
		Eventually(func(g Gomega) {
			now := podUIDs(ctx, "memcached", m.Name)
			g.Expect(now).To(And(HaveKey("cache-1"), HaveKeyWithValue("cache-0", before["cache-0"]),
				Not(HaveKeyWithValue("cache-1", before["cache-1"]))))
		}).WithContext(ctx).Should(Succeed())
		clearClientsServed()

		edit(ctx, m, func(m *cachev1alpha1.Memcached) { m.Spec.NodeSelector = nil })
		eventuallyReady(ctx, m)
		clearClientsServed()
		over := traffic.Secured{Network: network, Config: trusting(by.PEM(), m.Name)}
		Eventually(asks).WithArguments(ctx, over, m, m.Spec.Port).Should(Succeed())
	})
})

// asks a cache for a key that it does not have.
func asks(ctx context.Context, over traffic.Network, m *cachev1alpha1.Memcached, port int32) error {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := traffic.DialMemcached(limited, over, traffic.Service{Namespace: m.Namespace, Name: m.Name, Port: port})
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // the connection was ended by a command
	_, _, err = c.Get("nothing")
	return err
}
