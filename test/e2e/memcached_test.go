package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

// memcachedImage is the one that the samples' cluster has.
const memcachedImage = "docker.io/library/memcached:1.6.38"

var _ = Describe("Memcached", func() {
	cache := func(size int32) *cachev1alpha1.Memcached {
		return &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Name: "cache"},
			Spec:       cachev1alpha1.MemcachedSpec{Size: ptr.To(size), Memory: ptr.To(resource.MustParse("16Mi"))},
		}
	}

	It("keeps a key, on the port and with the memory that were asked for", func(ctx SpecContext) {
		m := cache(1)
		m.Spec.Port = 22122
		create(ctx, m)
		eventuallyReady(ctx, m)
		connected(ctx, m, func(g Gomega, c *traffic.Memcached) {
			g.Expect(c.Set("greeting", "hello")).To(Succeed())
			value, found, err := c.Get("greeting")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(BeTrue())
			g.Expect(value).To(Equal("hello"))
			settings, err := c.Settings()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(settings).To(HaveKeyWithValue("maxbytes", "16777216"))
		})
	})

	It("goes to 0 nodes and back, and names those that are ready", func(ctx SpecContext) {
		m := cache(2)
		create(ctx, m)
		eventuallyReady(ctx, m)
		Expect(m.Status.Nodes).To(Equal([]string{"cache-0", "cache-1"}))

		edit(ctx, m, func(m *cachev1alpha1.Memcached) { m.Spec.Size = ptr.To[int32](0) })
		eventuallyReady(ctx, m)
		Eventually(func(g Gomega) {
			refresh(ctx, m)
			g.Expect(m.Status.Nodes).To(BeEmpty())
			g.Expect(m.Status.Servers).To(BeEmpty())
			g.Expect(m.Status.Replicas).To(BeZero())
			g.Expect(podsOf(ctx, "memcached", "cache")).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())

		edit(ctx, m, func(m *cachev1alpha1.Memcached) { m.Spec.Size = ptr.To[int32](2) })
		eventuallyReady(ctx, m)
		Expect(m.Status.Nodes).To(Equal([]string{"cache-0", "cache-1"}))
	})

	It("follows its scale subresource", func(ctx SpecContext) {
		m := cache(1)
		create(ctx, m)
		eventuallyReady(ctx, m)
		kubectl(ctx, "scale", "memcached/cache", "--replicas=3")
		refresh(ctx, m)
		Expect(m.Spec.Size).To(HaveValue(BeEquivalentTo(3)))
		eventuallyReady(ctx, m)
		Expect(m.Status.Nodes).To(HaveLen(3))
		Expect(kubectl(ctx, "get", "memcached/cache", "--subresource=scale", "-o", "jsonpath={.status.replicas} {.status.selector}")).
			To(Equal("3 " + m.Status.Selector))
	})

	It("survives kubectl rollout restart", func(ctx SpecContext) {
		m := cache(1)
		create(ctx, m)
		eventuallyReady(ctx, m)
		before := podsOf(ctx, "memcached", "cache")
		Expect(before).To(HaveLen(1))
		kubectl(ctx, "rollout", "restart", "statefulset/cache")
		kubectl(ctx, "rollout", "status", "statefulset/cache", "--timeout="+eventuallyTimeout.String())
		eventuallyReady(ctx, m)
		after := podsOf(ctx, "memcached", "cache")
		Expect(after).To(HaveLen(1))
		Expect(after[0].UID).NotTo(Equal(before[0].UID), "the pods were replaced")
		const annotation = "kubectl.kubernetes.io/restartedAt"
		Consistently(func() map[string]string { return statefulSetOf(ctx, m).Spec.Template.Annotations }).
			WithContext(ctx).WithTimeout(3*time.Second).WithPolling(500*time.Millisecond).
			Should(HaveKey(annotation), "what kubectl wrote is not ours to take back")
	})

	It("says why an image cannot be pulled, and heals with a better one", func(ctx SpecContext) {
		m := cache(1)
		// Nothing listens on the node's discard port: the refusal is quick and local.
		m.Spec.Image = "127.0.0.1:9/nothing/here:1"
		create(ctx, m)
		Eventually(func(g Gomega) {
			refresh(ctx, m)
			g.Expect(condition(m, commonv1.ConditionReady).Status).To(Equal(metav1.ConditionFalse))
			g.Expect(condition(m, commonv1.ConditionDegraded)).To(And(
				HaveField("Status", metav1.ConditionTrue),
				HaveField("Reason", commonv1.ReasonPodFailing),
				HaveField("Message", ContainSubstring(m.Spec.Image)),
			))
		}).WithContext(ctx).Should(Succeed())
		edit(ctx, m, func(m *cachev1alpha1.Memcached) { m.Spec.Image = memcachedImage })
		eventuallyReady(ctx, m)
		Expect(condition(m, commonv1.ConditionDegraded).Status).To(Equal(metav1.ConditionFalse))
	})
})

// statefulSetOf reads the StatefulSet of a cache.
func statefulSetOf(ctx context.Context, m *cachev1alpha1.Memcached) *appsv1.StatefulSet {
	GinkgoHelper()
	set := &appsv1.StatefulSet{}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(m), set)).To(Succeed())
	return set
}

// connected talks to a cache through its Service, as soon as that routes.
func connected(ctx context.Context, m *cachev1alpha1.Memcached, talk func(Gomega, *traffic.Memcached)) {
	GinkgoHelper()
	spoken(ctx, network, m, talk)
}

// spoken is connected over a network of the caller's.
func spoken(ctx context.Context, over traffic.Network, m *cachev1alpha1.Memcached, talk func(Gomega, *traffic.Memcached)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		c, err := traffic.DialMemcached(limited, over, traffic.Service{Namespace: m.Namespace, Name: m.Name, Port: m.Spec.Port})
		g.Expect(err).NotTo(HaveOccurred())
		defer c.Close() //nolint:errcheck // the talk is over
		talk(g, c)
	}).WithContext(ctx).Should(Succeed())
}
