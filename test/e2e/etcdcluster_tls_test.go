package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

var _ = Describe("EtcdCluster over TLS", func() {
	It("takes certificates of its clients, and changes its own and its authority under a writer", func(ctx SpecContext) {
		former, next := authority.New("former"), authority.New("next")
		issue := func(by *authority.Authority) map[string][]byte {
			return by.Issue("sealed."+namespace+".svc", func(c *x509.Certificate) {
				c.DNSNames = append(c.DNSNames, "*.sealed-headless."+namespace+".svc")
			})
		}
		first, renewed, other := issue(former), issue(former), issue(next)
		certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "sealed-tls"}, Data: first}
		create(ctx, certificate)
		e := builders.EtcdCluster("sealed").Storage("128Mi").TLS(certificate.Name, databasev1alpha1.EtcdClientAuthRequired).Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		eventually(ctx, e, commonv1.ConditionCertificatesInSync, metav1.ConditionTrue)

		By("refusing clients without a certificate of the authority")
		both := append(former.PEM(), next.PEM()...)
		refused := func(config *tls.Config) {
			GinkgoHelper()
			Eventually(refusal).WithContext(ctx).WithArguments(config).Should(MatchError(ContainSubstring("certificate required")))
		}
		refused(trusting(both, e.Name))
		// A client shows what the server asks for, and has none of that authority.
		refused(showing(both, e.Name, other))
		Expect(refusal(ctx, showing(both, e.Name, first))).To(Succeed())

		By("showing a renewed certificate without a restart")
		w := puttingBy(ctx, dialEtcd(e, showing(both, e.Name, first, other)))
		before := podUIDs(ctx, "etcd", e.Name)
		edit(ctx, certificate, func(s *corev1.Secret) { s.Data = renewed })
		Eventually(presented).WithContext(ctx).WithArguments(e.Name, int32(etcdPort), former.PEM()).Should(Equal(leaf(renewed)))
		eventually(ctx, e, commonv1.ConditionCertificatesInSync, metav1.ConditionTrue)
		w.continues(ctx)
		Expect(podUIDs(ctx, "etcd", e.Name)).To(Equal(before))

		By("changing over to another authority by new pods")
		edit(ctx, certificate, func(s *corev1.Secret) { s.Data = other })
		Eventually(func(g Gomega) {
			var binding corev1.Secret
			g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: e.Status.Binding.Name}, &binding)).To(Succeed())
			g.Expect(binding.Data["ca.crt"]).To(Equal(next.PEM()))
		}).WithContext(ctx).Should(Succeed())
		eventually(ctx, e, commonv1.ConditionCertificatesInSync, metav1.ConditionTrue)
		eventuallyReady(ctx, e)
		for name, uid := range podUIDs(ctx, "etcd", e.Name) {
			Expect(before).NotTo(HaveKeyWithValue(name, uid))
		}
		Eventually(presented).WithContext(ctx).WithArguments(e.Name, int32(etcdPort), next.PEM()).Should(Equal(leaf(other)))
		refused(showing(both, e.Name, first))
		w.continues(ctx)
		w.hasLostNothing(ctx)
	}, longest)
})

// showing is trusting with the certificates, of which a server is shown the one that it asks for, or none.
func showing(authorities []byte, service string, secrets ...map[string][]byte) *tls.Config {
	GinkgoHelper()
	config := trusting(authorities, service)
	var pairs []tls.Certificate
	for _, s := range secrets {
		pair, err := tls.X509KeyPair(s["tls.crt"], s["tls.key"])
		Expect(err).NotTo(HaveOccurred())
		pairs = append(pairs, pair)
	}
	config.GetClientCertificate = func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		for i := range pairs {
			if asked.SupportsCertificate(&pairs[i]) == nil {
				return &pairs[i], nil
			}
		}
		return &tls.Certificate{}, nil
	}
	return config
}

// refusal is how the members refuse a client with that configuration; nil if they do not. With TLS 1.3 a server does so after the
// client's part of the handshake.
func refusal(ctx context.Context, config *tls.Config) error {
	conn, err := network.Dial(ctx, traffic.Service{Namespace: namespace, Name: "sealed", Port: etcdPort})
	if err != nil {
		return err
	}
	over := tls.Client(conn, config)
	defer over.Close() //nolint:errcheck // enough was seen
	if err := errors.Join(over.HandshakeContext(ctx), over.SetDeadline(time.Now().Add(10*time.Second))); err != nil {
		return err
	}
	if _, err := over.Write([]byte("GET /version HTTP/1.0\r\n\r\n")); err != nil {
		return err
	}
	_, err = over.Read(make([]byte, 1))
	return err
}
