package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

var _ = Describe("Redis over TLS", longest, func() {
	It("takes a renewed certificate up while an application writes, and restarts no server", func(ctx SpecContext) {
		by := authority.New("e2e")
		issue := func() map[string][]byte {
			return by.Issue("data."+namespace+".svc", func(c *x509.Certificate) {
				c.DNSNames = append(c.DNSNames, "data-replicas."+namespace+".svc")
			})
		}
		certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "data-tls"}, Data: issue()}
		create(ctx, certificate)
		r := builders.Redis("data").TLS(certificate.Name, "").Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		eventually(ctx, r, commonv1.ConditionCertificatesInSync, metav1.ConditionTrue)

		w := writing(ctx, r)
		before, renewed := podUIDs(ctx, "redis", r.Name), issue()
		edit(ctx, certificate, func(s *corev1.Secret) { s.Data = renewed })
		Eventually(presented).WithContext(ctx).WithArguments(r.Name, int32(redisPort), renewed["ca.crt"]).Should(Equal(leaf(renewed)))
		eventually(ctx, r, commonv1.ConditionCertificatesInSync, metav1.ConditionTrue)
		Expect(w.Refusals()).To(BeEmpty())
		Expect(podUIDs(ctx, "redis", r.Name)).To(Equal(before))
	})
})

// trusting those whom the authorities vouch for as this Service.
func trusting(authorities []byte, service string) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: service + "." + namespace + ".svc"}
}

// presented is the certificate that a new connection to the Service is shown.
func presented(ctx context.Context, service string, port int32, authorities []byte) ([]byte, error) {
	conn, err := network.Dial(ctx, traffic.Service{Namespace: namespace, Name: service, Port: port})
	if err != nil {
		return nil, err
	}
	over := tls.Client(conn, trusting(authorities, service))
	defer over.Close() //nolint:errcheck // enough was seen
	if err := over.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return over.ConnectionState().PeerCertificates[0].Raw, nil
}

// leaf is the certificate in the data of a Secret, without what vouches for it.
func leaf(secret map[string][]byte) []byte {
	block, _ := pem.Decode(secret["tls.crt"])
	return block.Bytes
}

func podUIDs(ctx context.Context, kind, name string) map[string]types.UID {
	GinkgoHelper()
	found := map[string]types.UID{}
	for _, pod := range podsOf(ctx, kind, name) {
		found[pod.Name] = pod.UID
	}
	return found
}
