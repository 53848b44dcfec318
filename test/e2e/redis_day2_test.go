package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

var _ = Describe("Redis, day after day", func() {
	It("changes the applications' password, then its own, while one writes, and restarts no server", longest, func(ctx SpecContext) {
		chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "chosen"}, Data: map[string][]byte{"password": []byte("one")}}
		create(ctx, chosen)
		r := builders.Redis("data").With(func(s *cachev1alpha1.RedisSpec) { s.Auth = &cachev1alpha1.RedisAuth{SecretName: chosen.Name} }).Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		w, before := writing(ctx, r), podUIDs(ctx, "redis", r.Name)

		edit(ctx, chosen, func(s *corev1.Secret) { s.Data["password"] = []byte("two") })
		Eventually(bindingPassword).WithContext(ctx).WithArguments(r).Should(Equal("two"))
		Expect(redisClient(ctx, r, r.Name).Ping(ctx).Err()).To(Succeed(), "a client that reads the Secret is admitted")
		eventually(ctx, r, commonv1.ConditionCredentialsInSync, metav1.ConditionTrue)
		written := w.Written()
		Eventually(w.Written).WithContext(ctx).Should(BeNumerically(">", written+50))
		Expect(w.Refusals()).To(BeEmpty())

		if !cluster.Local() { // no pod can be spoken with alone
			return
		}
		By("the operator's own passwords")
		w = writingUnder(ctx, r, "own-") // by the applications' new password: the one before expires meanwhile
		former, epoch := ownPasswords(ctx, r), r.Status.Epoch
		Expect(loginsRefused(ctx, r, former)).To(BeEmpty())
		edit(ctx, r, func(r *cachev1alpha1.Redis) {
			metav1.SetMetaDataAnnotation(&r.ObjectMeta, cachev1alpha1.RedisRotatePasswords, "once")
		})
		said := eventually(ctx, r, commonv1.ConditionCredentialsInSync, metav1.ConditionFalse)
		Expect(said.Reason).To(Equal(commonv1.ReasonRotating))
		const rotation = 3 * time.Minute
		Eventually(func() metav1.Condition {
			refresh(ctx, r)
			return condition(r, commonv1.ConditionCredentialsInSync)
		}).WithContext(ctx).WithTimeout(rotation + 2*time.Minute).WithPolling(time.Second).Should(HaveField("Status", metav1.ConditionTrue))
		Expect(loginsRefused(ctx, r, former)).To(HaveLen(2*len(before)), "the former passwords, on each pod")
		Expect(loginsRefused(ctx, r, ownPasswords(ctx, r))).To(BeEmpty())
		written = w.Written()
		Eventually(w.Written).WithContext(ctx).Should(BeNumerically(">", written+50))
		Expect(w.Refusals()).To(BeEmpty())
		Expect(podUIDs(ctx, "redis", r.Name)).To(Equal(before))
		Expect(r.Status.Epoch).To(Equal(epoch), "no other server became master")
	})

	It("sleeps, and wakes with its data", func(ctx SpecContext) {
		r := onVolumes()
		create(ctx, r)
		eventuallyReady(ctx, r)
		application := redisClient(ctx, r, r.Name)
		Eventually(func() error { return application.Set(ctx, "greeting", "hello", 0).Err() }).WithContext(ctx).Should(Succeed())

		edit(ctx, r, func(r *cachev1alpha1.Redis) { r.Spec.Hibernate = true })
		Eventually(func(ctx context.Context) string {
			refresh(ctx, r)
			return condition(r, commonv1.ConditionReady).Reason
		}).WithContext(ctx).Should(Equal(commonv1.ReasonHibernated))
		Expect(podUIDs(ctx, "redis", r.Name)).To(BeEmpty())

		edit(ctx, r, func(r *cachev1alpha1.Redis) { r.Spec.Hibernate = false })
		eventually(ctx, r, commonv1.ConditionAvailable, metav1.ConditionTrue)
		eventuallyReady(ctx, r)
		Eventually(func() (string, error) { return application.Get(ctx, "greeting").Result() }).WithContext(ctx).Should(Equal("hello"))
	})

	It("serves on when its volumes cannot grow, and says so", func(ctx SpecContext) {
		r := onVolumes()
		create(ctx, r)
		eventuallyReady(ctx, r)
		before := podUIDs(ctx, "redis", r.Name)
		edit(ctx, r, func(r *cachev1alpha1.Redis) { r.Spec.Storage.Size = resource.MustParse("128Mi") })
		said := eventually(ctx, r, commonv1.ConditionStorageResizing, metav1.ConditionTrue)
		Expect(said.Reason).To(Equal(commonv1.ReasonRefusedByServer))
		Expect(said.Message).To(ContainSubstring("resize"), "the server's words")
		application := redisClient(ctx, r, r.Name)
		Eventually(func() error { return application.Set(ctx, "greeting", "hello", 0).Err() }).WithContext(ctx).Should(Succeed())
		Expect(podUIDs(ctx, "redis", r.Name)).To(Equal(before))
	})
})

// onVolumes is a Redis whose volumes go with it.
func onVolumes() *cachev1alpha1.Redis {
	return builders.Redis("data").Storage("64Mi").
		With(func(s *cachev1alpha1.RedisSpec) { s.Storage.Retention = cachev1alpha1.RedisDelete }).Build()
}

// ownPasswords are those of the operator and of the backups, by user.
func ownPasswords(ctx context.Context, r *cachev1alpha1.Redis) map[string]string {
	GinkgoHelper()
	var system corev1.Secret
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name + "-system"}, &system)).To(Succeed())
	list := map[string]string{}
	for _, user := range []string{"_operator", "_backup"} {
		Expect(system.Data).To(HaveKeyWithValue(user, Not(BeEmpty())))
		list[user] = string(system.Data[user])
	}
	return list
}

// loginsRefused are the logins that servers refuse for their passwords, by pod and user.
func loginsRefused(ctx context.Context, r *cachev1alpha1.Redis, passwords map[string]string) []string {
	GinkgoHelper()
	var refused []string
	for _, pod := range podsOf(ctx, "redis", r.Name) {
		for user, password := range passwords {
			c := traffic.Redis(traffic.At(pod.Status.PodIP), traffic.Service{Port: redisPort}, user, password)
			err := c.Ping(ctx).Err()
			Expect(c.Close()).To(Succeed())
			if err != nil {
				Expect(err).To(MatchError(ContainSubstring("WRONGPASS")), pod.Name)
				refused = append(refused, pod.Name+" "+user)
			}
		}
	}
	return refused
}

// bindingPassword is the password that applications read.
func bindingPassword(ctx context.Context, r *cachev1alpha1.Redis) (string, error) {
	var binding corev1.Secret
	err := k8s.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Status.Binding.Name}, &binding)
	return string(binding.Data["password"]), err
}
