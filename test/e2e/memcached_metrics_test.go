package e2e

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

var _ = Describe("Memcached's exporter", longest, Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx SpecContext) { Expect(cluster.Provide(ctx, "exporter")).To(Succeed()) })
	BeforeEach(func(ctx SpecContext) {
		kubectl(ctx, "label", "namespace", namespace, "--overwrite", "pod-security.kubernetes.io/enforce=restricted")
	})
	measured := func(ctx context.Context, change func(*cachev1alpha1.MemcachedSpec)) *cachev1alpha1.Memcached {
		GinkgoHelper()
		m := builders.Memcached("cache").Memory("16Mi").With(func(s *cachev1alpha1.MemcachedSpec) {
			s.Metrics = &cachev1alpha1.MemcachedMetrics{Enabled: true}
		}).With(change).Build()
		create(ctx, m)
		eventuallyReady(ctx, m)
		return m
	}

	It("counts what its node does", func(ctx SpecContext) {
		m := measured(ctx, func(s *cachev1alpha1.MemcachedSpec) { s.Port = 22122 })
		Eventually(scraped).WithArguments(ctx, m).Should(ContainSubstring("\nmemcached_up 1\n"))
		Eventually(asks).WithArguments(ctx, network, m, m.Spec.Port).Should(Succeed()) // as soon as the Service routes
		c := dial(ctx, network, traffic.Service{Namespace: namespace, Name: m.Name, Port: m.Spec.Port})
		for i := range 7 {
			Expect(c.Set(fmt.Sprint("key-", i), "value")).To(Succeed())
			_, found, err := c.Get(fmt.Sprint("key-", i))
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(BeTrue())
		}
		Expect(scraped(ctx, m)).To(And(
			ContainSubstring("\nmemcached_current_items 7\n"),
			ContainSubstring("\nmemcached_commands_total{command=\"set\",status=\"hit\"} 7\n"),
			ContainSubstring("\nmemcached_commands_total{command=\"get\",status=\"hit\"} 7\n"),
			ContainSubstring("\nmemcached_limit_bytes 1.6777216e+07\n"),
		))
	})

	It("shows the node its certificate, and knows it by a renewed one", func(ctx SpecContext) {
		by := authority.New("e2e")
		issue := func() map[string][]byte { return by.Issue("cache." + namespace + ".svc") }
		certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cache-tls"}, Type: corev1.SecretTypeTLS, Data: issue()}
		create(ctx, certificate)
		m := measured(ctx, func(s *cachev1alpha1.MemcachedSpec) {
			s.TLS = &cachev1alpha1.MemcachedTLS{SecretName: certificate.Name, ClientAuth: cachev1alpha1.MemcachedClientAuthRequire}
		})
		Eventually(scraped).WithArguments(ctx, m).Should(ContainSubstring("\nmemcached_up 1\n"))
		Expect(asks(ctx, traffic.Secured{Network: network, Config: trusting(by.PEM(), m.Name)}, m, m.Spec.Port)).
			NotTo(Succeed(), "without a certificate")

		before, renewed := podUIDs(ctx, "memcached", m.Name), issue()
		edit(ctx, certificate, func(s *corev1.Secret) { s.Data = renewed })
		Eventually(presented).WithContext(ctx).WithArguments(m.Name, m.Spec.Port, renewed["ca.crt"]).Should(Equal(leaf(renewed)))
		Expect(scraped(ctx, m)).To(ContainSubstring("\nmemcached_up 1\n"))
		Expect(podUIDs(ctx, "memcached", m.Name)).To(Equal(before))
	})
})

// scraped is what Prometheus would read of the first node, at the headless Service's
// port: on a node of the cluster by the pod's address, as such a Service has none.
func scraped(ctx context.Context, m *cachev1alpha1.Memcached) (string, error) {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	over := network
	if cluster.Local() {
		pod := &corev1.Pod{}
		if err := k8s.Get(limited, client.ObjectKey{Namespace: namespace, Name: m.Name + "-0"}, pod); err != nil {
			return "", err
		}
		over = traffic.At(pod.Status.PodIP)
	}
	answer, err := traffic.Get(limited, over, traffic.Service{Namespace: namespace, Name: m.Name + "-headless", Port: 9150}, "/metrics")
	if err == nil && answer.Code != http.StatusOK {
		err = fmt.Errorf("the exporter answers %s", answer.Status)
	}
	return answer.Body, err
}
