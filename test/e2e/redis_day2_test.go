package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("Redis, day after day", func() {
	It("changes the applications' password while one writes, and restarts nobody", func(ctx SpecContext) {
		chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "chosen"}, Data: map[string][]byte{"password": []byte("one")}}
		create(ctx, chosen)
		r := builders.Redis("data").With(func(s *cachev1alpha1.RedisSpec) { s.Auth = &cachev1alpha1.RedisAuth{SecretName: chosen.Name} }).Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		w, before := writing(ctx, r), podUIDs(ctx, "redis", r.Name)

		edit(ctx, chosen, func(s *corev1.Secret) { s.Data["password"] = []byte("two") })
		Eventually(bindingPassword).WithContext(ctx).WithArguments(r).Should(Equal("two"))
		Expect(redisClient(ctx, r, r.Name).Ping(ctx).Err()).To(Succeed(), "whoever reads the Secret is let in")
		eventually(ctx, r, commonv1.ConditionCredentialsInSync, metav1.ConditionTrue)
		written := w.Written()
		Eventually(w.Written).WithContext(ctx).Should(BeNumerically(">", written+50))
		Expect(refusals(w)).To(BeEmpty())
		Expect(podUIDs(ctx, "redis", r.Name)).To(Equal(before))
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

// bindingPassword is the password that applications read.
func bindingPassword(ctx context.Context, r *cachev1alpha1.Redis) (string, error) {
	var binding corev1.Secret
	err := k8s.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Status.Binding.Name}, &binding)
	return string(binding.Data["password"]), err
}
