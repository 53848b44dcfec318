package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// A namespace whose quota bounds requests and limits takes no pod in which one container, init containers included, lacks any of them.
var _ = Describe("A namespace with a quota of requests and limits", func() {
	It("runs what names its servers' resources, and says why it does not run more", func(ctx SpecContext) {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "all-must-say"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
				"requests.cpu": resource.MustParse("4"), "requests.memory": resource.MustParse("4Gi"),
				"limits.cpu": resource.MustParse("16"), "limits.memory": resource.MustParse("8Gi"),
			}}}
		create(ctx, quota)
		given := corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("192Mi")},
		}
		members := builders.EtcdCluster("members").Size(1).With(func(s *databasev1alpha1.EtcdClusterSpec) { s.Resources = given }).Build()
		run := &egov1.Activity{ObjectMeta: metav1.ObjectMeta{Name: "run"}, Spec: egov1.ActivitySpec{Command: "echo ran"}}
		cache := builders.Memcached("nodes").Size(1).Memory("16Mi").With(func(s *cachev1alpha1.MemcachedSpec) {
			s.Resources, s.Proxy = given, &cachev1alpha1.MemcachedProxy{Enabled: true}
		}).Build()
		refused := builders.EtcdCluster("refused").Size(1).Build() // names none
		for _, obj := range []object{members, run, cache, refused} {
			create(ctx, obj)
		}
		eventuallyReady(ctx, members)
		eventuallyReady(ctx, cache)
		eventually(ctx, run, commonv1.ConditionComplete, metav1.ConditionTrue)
		why := eventually(ctx, refused, commonv1.ConditionDegraded, metav1.ConditionTrue)
		Expect(why.Message).To(And(ContainSubstring("all-must-say"), ContainSubstring("must specify"), ContainSubstring("spec.resources")))

		edit(ctx, refused, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Resources = given })
		eventuallyReady(ctx, refused)
		Expect(condition(refused, commonv1.ConditionDegraded).Status).To(Equal(metav1.ConditionFalse))
	})
})
