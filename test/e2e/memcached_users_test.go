package e2e

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

var _ = Describe("Memcached with users", func() {
	// With LONG=1 nodes are replaced at the pace that they are by default.
	It("admits a client that knows the password, and while it changes one that knows the old or the new", func(ctx SpecContext) {
		pace, rollout := time.Second, &cachev1alpha1.MemcachedRollout{MinReadySeconds: ptr.To[int32](1)}
		if os.Getenv("LONG") != "" {
			pace, rollout = 30*time.Second, nil
		}
		users := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "users"}, StringData: map[string]string{"users": "app:one\n"}}
		create(ctx, users)
		m := builders.Memcached("cache").Size(2).Memory("16Mi").With(func(s *cachev1alpha1.MemcachedSpec) {
			s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: users.Name}
			s.Rollout = rollout
		}).Build()
		create(ctx, m)
		eventuallyReady(ctx, m)
		eventually(ctx, m, commonv1.ConditionCredentialsInSync, metav1.ConditionTrue)
		Eventually(letsIn).WithArguments(ctx, m, "one").Should(Succeed()) // as soon as the Service routes
		Expect(letsIn(ctx, m, "two")).To(MatchError(ContainSubstring("authentication failure")))
		Expect(asks(ctx, network, m, m.Spec.Port)).To(MatchError(ContainSubstring("unauthenticated")))

		generation := m.Generation
		edit(ctx, users, func(s *corev1.Secret) { s.Data = map[string][]byte{"users": []byte("app:two\n")} })
		eventually(ctx, m, commonv1.ConditionCredentialsInSync, metav1.ConditionFalse)
		seen := careers{}
		Eventually(func(g Gomega) {
			seen.look(ctx, m)
			Expect(letsIn(ctx, m, "two", "one")).To(Succeed())
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
			g.Expect(condition(m, commonv1.ConditionCredentialsInSync).Status).To(Equal(metav1.ConditionTrue))
		}).WithContext(ctx).WithTimeout(eventuallyTimeout + 4*pace).Should(Succeed())
		Expect(seen.pauses()).To(And(HaveLen(4), HaveEach(BeNumerically(">=", pace))), "of two nodes, each replaced twice")
		Expect(m.Generation).To(Equal(generation))
		for range 10 { // whichever node it is
			Expect(letsIn(ctx, m, "two")).To(Succeed())
			Expect(letsIn(ctx, m, "one")).To(MatchError(ContainSubstring("authentication failure")))
		}
	})
})

// letsIn is nil when a node lets app in with one of the passwords, tried in their order.
func letsIn(ctx context.Context, m *cachev1alpha1.Memcached, passwords ...string) error {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := traffic.DialMemcached(limited, network, traffic.Service{Namespace: m.Namespace, Name: m.Name, Port: m.Spec.Port})
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // the connection was ended by a command
	for _, password := range passwords {
		if err = c.Login("app", password); err == nil {
			return nil
		}
	}
	return err
}

// careers are when pods were made and when they were ready, by UID.
type careers map[types.UID]*career

type career struct{ made, ready time.Time }

// look at the pods that are there.
func (c careers) look(ctx context.Context, m *cachev1alpha1.Memcached) {
	GinkgoHelper()
	for _, pod := range podsOf(ctx, "memcached", m.Name) {
		seen := &career{made: pod.CreationTimestamp.Time}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				seen.ready = condition.LastTransitionTime.Time
			}
		}
		if known := c[pod.UID]; known == nil || known.ready.IsZero() {
			c[pod.UID] = seen
		}
	}
}

// pauses are how long each pod was ready before the next was made in another one's place.
func (c careers) pauses() (all []time.Duration) {
	inOrder := slices.SortedFunc(maps.Values(c), func(a, b *career) int { return a.made.Compare(b.made) })
	for i := 1; i < len(inOrder)-1; i++ { // the first was made together with the second
		all = append(all, inOrder[i+1].made.Sub(inOrder[i].ready))
	}
	return all
}
