package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

// keys that are spread over the nodes.
const keys = 10_000

var _ = Describe("Memcached of several nodes", func() {
	It("keeps all keys but the killed node's behind its proxy, and serves none that is wrong", func(ctx SpecContext) {
		m := builders.Memcached("cache").Size(3).Memory("16Mi").
			With(func(s *cachev1alpha1.MemcachedSpec) { s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true} }).Build()
		create(ctx, m)
		eventuallyReady(ctx, m)
		front := traffic.Service{Namespace: namespace, Name: "cache-proxy", Port: m.Spec.Port}
		Expect(m.Status.Endpoint).To(HavePrefix(front.Name + "." + namespace + ".svc:"))

		Eventually(func() error { return accepts(ctx, front) }).WithContext(ctx).Should(Succeed()) // as soon as the Service routes
		c := dial(ctx, network, front)
		for i := range keys { // each thread of the proxy has connections of its own to the nodes, made as it needs them
			Eventually(func() error { return c.Set(strconv.Itoa(i), valueOf(i)) }).WithContext(ctx).Should(Succeed())
		}
		victim, fewest := "", keys
		for _, pod := range podsOf(ctx, "memcached", m.Name) {
			held, err := dial(ctx, traffic.At(pod.Status.PodIP), front).Stats()
			Expect(err).NotTo(HaveOccurred())
			items, err := strconv.Atoi(held["curr_items"])
			Expect(err).NotTo(HaveOccurred())
			Expect(items).To(BeNumerically("~", keys/3, keys/50), pod.Name)
			if items < fewest {
				victim, fewest = pod.Name, items
			}
		}
		kubectl(ctx, "delete", "pod", victim, "--grace-period=0", "--force")
		left := keys
		Eventually(func() int { left = hits(ctx, front); return left }).WithContext(ctx).Should(BeNumerically("<", keys), "its process has ended")
		Eventually(func() error { return accepts(ctx, front) }).WithContext(ctx).Should(Succeed()) // at its new address
		left = min(left, hits(ctx, front))
		AddReportEntry("hits", fmt.Sprintf("%d of %d, when %s with %d was killed", left, keys, victim, fewest))
		Expect(left).To(BeNumerically(">=", keys*2/3))
	})

	It("moves no more keys than the fourth node's share when it grows from three", func(ctx SpecContext) {
		m := builders.Memcached("cache").Size(3).Memory("16Mi").Build()
		create(ctx, m)
		eventuallyReady(ctx, m)
		before := ring(ctx, m)
		for i := range keys {
			key := strconv.Itoa(i)
			Expect(before[traffic.Place(key, len(before))].Set(key, key)).To(Succeed())
		}
		edit(ctx, m, func(m *cachev1alpha1.Memcached) { m.Spec.Size = ptr.To[int32](4) })
		eventuallyReady(ctx, m)
		after, missed := ring(ctx, m), 0
		Expect(after).To(HaveLen(4))
		for i := range keys {
			key := strconv.Itoa(i)
			value, found, err := after[traffic.Place(key, len(after))].Get(key)
			Expect(err).NotTo(HaveOccurred())
			if !found {
				missed++
				continue
			}
			Expect(value).To(Equal(key))
		}
		AddReportEntry("moved", fmt.Sprintf("%d of %d", missed, keys))
		Expect(missed).To(BeNumerically("<=", keys/4+keys/50))
	})
})

func valueOf(i int) string { return fmt.Sprint("value of ", i) }

// hits are the keys that are found behind an address. A node that is down is said to be,
// and no value is another one than was set.
func hits(ctx context.Context, front traffic.Service) (found int) {
	GinkgoHelper()
	c := dial(ctx, network, front)
	for i := range keys {
		value, hit, err := c.Get(strconv.Itoa(i))
		switch {
		case err != nil:
			Expect(err).To(MatchError(ContainSubstring("SERVER_ERROR backend failure")))
		case hit:
			found++
			Expect(value).To(Equal(valueOf(i)))
		}
	}
	return found
}

// accepts is nil when every node behind an address takes keys, which leaves those that count alone.
func accepts(ctx context.Context, front traffic.Service) error {
	c, err := tryDial(ctx, network, front)
	for i := 0; err == nil && i < 100; i++ {
		err = c.Set(fmt.Sprint("other-", i), "1")
	}
	return err
}

// dial opens a connection that ends with the spec.
func dial(ctx context.Context, over traffic.Network, to traffic.Service) *traffic.Memcached {
	GinkgoHelper()
	c, err := tryDial(ctx, over, to)
	Expect(err).NotTo(HaveOccurred())
	return c
}

// tryDial opens such a connection where that may fail.
func tryDial(ctx context.Context, over traffic.Network, to traffic.Service) (*traffic.Memcached, error) {
	limited, cancel := context.WithTimeout(ctx, eventuallyTimeout)
	DeferCleanup(cancel)
	c, err := traffic.DialMemcached(limited, over, to)
	if err == nil {
		DeferCleanup(c.Close)
	}
	return c, err
}

// ring is a connection to each of the servers that the status lists, in its order.
func ring(ctx context.Context, m *cachev1alpha1.Memcached) []*traffic.Memcached {
	GinkgoHelper()
	var all []*traffic.Memcached
	for _, server := range m.Status.Servers {
		name, _, _ := strings.Cut(server, ".")
		pod := &corev1.Pod{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod)).To(Succeed())
		all = append(all, dial(ctx, traffic.At(pod.Status.PodIP), traffic.Service{Port: m.Spec.Port}))
	}
	return all
}
