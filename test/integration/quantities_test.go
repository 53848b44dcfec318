package integration

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// costly takes resource.ParseQuantity hours. No Go value can have it.
const costly = "1e-2000000000"

// raw is an object as a user writes it.
func raw(kind schema.GroupVersionKind, namespace string, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName("a")
	return obj
}

var _ = Describe("a quantity that takes hours to compute", func() {
	type fields = map[string]any
	limits := fields{"limits": fields{"cpu": costly}}
	DescribeTable("is refused", func(version schema.GroupVersion, kind string, spec fields, field string) {
		reject(raw(version.WithKind(kind), "default", spec), field)
	},
		Entry("in EasyService", appv1.GroupVersion, "EasyService", fields{"image": "a", "resources": limits}, "spec.resources.limits"),
		Entry("in EasyService's volume", appv1.GroupVersion, "EasyService", fields{"image": "a",
			"volumes": []any{fields{"name": "a", "emptyDir": fields{"sizeLimit": costly}}}}, "spec.volumes[0].emptyDir.sizeLimit"),
		Entry("in Memcached", cachev1alpha1.GroupVersion, "Memcached", fields{"resources": limits}, "spec.resources.limits"),
		Entry("in Memcached's memory", cachev1alpha1.GroupVersion, "Memcached", fields{"memory": costly, "maxItemSize": costly,
			"resources": fields{"limits": fields{"memory": costly}}}, "spec.memory"),
		Entry("in Redis", cachev1alpha1.GroupVersion, "Redis", fields{"resources": limits}, "spec.resources.limits"),
		Entry("in Redis's storage", cachev1alpha1.GroupVersion, "Redis", fields{"storage": fields{"size": costly}}, "spec.storage.size"),
		Entry("in EtcdCluster", databasev1alpha1.GroupVersion, "EtcdCluster", fields{"resources": limits}, "spec.resources.limits"),
		Entry("in EtcdCluster's quota", databasev1alpha1.GroupVersion, "EtcdCluster", fields{"quota": costly, "storage": fields{"size": costly}},
			"spec.quota"),
		Entry("in Activity's workspace", egov1.GroupVersion, "Activity",
			fields{"image": "a", "command": "true", "workspace": fields{"size": costly}}, "spec.workspace.size"),
	)

	// Kubernetes 1.33 and older refuse the first release's CRD: they estimate that its rules cost too much.
	accepted := SemVerConstraint(">= 1.35.0")
	It("is reported, and stops nothing, in an object that the first release stored", accepted, func(ctx SpecContext) {
		const file = "app.mainstay-operator.io_easyservices.yaml"
		namespace := newNamespace(ctx)
		obj := raw(appv1.GroupVersion.WithKind("EasyService"), namespace,
			fields{"image": "a", "security": "Restricted", "resources": limits})
		DeferCleanup(useCRD, filepath.Join(root, "config/crd/bases", file))
		useCRD(ctx, filepath.Join(root, "test/olm/v0.1.0/bundle/manifests", file))
		Eventually(func() error { return admin.Create(ctx, obj) }).Should(Succeed())
		useCRD(ctx, filepath.Join(root, "config/crd/bases", file))
		Eventually(func() error {
			another := obj.DeepCopy()
			another.SetResourceVersion("")
			another.SetName("another")
			return admin.Create(ctx, another, client.DryRunAll)
		}).Should(MatchError(ContainSubstring("spec.resources.limits")))

		operate(namespace)
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonInvalidSpec).Should(Succeed())
		read, err := live(ctx, obj)
		Expect(err).NotTo(HaveOccurred())
		Expect(conditionOf(read, commonv1.ConditionDegraded).Message).To(HavePrefix("resources: limits.cpu: "))

		By("changing another field, then the one at fault")
		Expect(unstructured.SetNestedField(read.Object, "b", "spec", "image")).To(Succeed())
		Expect(admin.Update(ctx, read)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonInvalidSpec).Should(Succeed())
		Eventually(func(g Gomega) {
			read, err := live(ctx, obj)
			g.Expect(err).NotTo(HaveOccurred())
			unstructured.RemoveNestedField(read.Object, "spec", "resources")
			g.Expect(admin.Update(ctx, read)).To(Succeed())
		}).Should(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
	})
})

// useCRD serves a kind by another definition, as an upgrade of the operator does.
func useCRD(ctx context.Context, file string) {
	GinkgoHelper()
	wanted, err := releases.ReadObject(file)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() error {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(wanted.GroupVersionKind())
		if err := admin.Get(ctx, client.ObjectKeyFromObject(wanted), crd); err != nil {
			return err
		}
		crd.Object["spec"].(map[string]any)["versions"] = wanted.Object["spec"].(map[string]any)["versions"]
		return admin.Update(ctx, crd)
	}).Should(Succeed())
}
