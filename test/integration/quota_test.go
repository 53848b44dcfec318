package integration

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Quota:", func() {
	forEachKind("quotes a quota that lets no pod in, until it does", func(ctx SpecContext, k kind) {
		if k.name == "EasyService" {
			return // its Deployment's controller, which the suite plays, has the words of the quota; a unit test reads them
		}
		namespace := k.newNamespace(ctx)
		quota := noPods(ctx, namespace)
		operateUnderQuota(namespace)
		obj := k.sample()
		obj.SetNamespace(namespace)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(degradedMessage).WithArguments(ctx,
			obj).Should(And(ContainSubstring("exceeded quota: "+quota.Name), ContainSubstring("Raise the ResourceQuota")))
		Expect(admin.Delete(ctx, quota)).To(Succeed())
		k.rest(ctx, obj)
		Eventually(degradedMessage).WithArguments(ctx, obj).Should(BeEmpty())
	})
})

// operateUnderQuota is operate where the quota, not the role, forbids pods.
func operateUnderQuota(namespace string) {
	GinkgoHelper()
	o, err := install{namespaces: []string{namespace}, images: images}.launch()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		o.stop()
		Expect(o.Calls(func(c fault.Call) bool { return forbidden(c) && c.Resource != "pods" })).To(BeEmpty(), "the role lacks a right")
	})
}

// noPods makes a quota that lets no pod in. No controller runs here that would write its status.
func noPods(ctx context.Context, namespace string) *corev1.ResourceQuota {
	GinkgoHelper()
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: none}}
	Expect(admin.Create(ctx, quota)).To(Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	Expect(admin.Status().Update(ctx, quota)).To(Succeed())
	Eventually(func() string {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}, Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "c", Image: "i", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
		}}
		return fmt.Sprint(admin.Create(ctx, pod, client.DryRunAll))
	}).Should(ContainSubstring("quota"))
	return quota
}

// degradedMessage is what Degraded says while it is True.
func degradedMessage(ctx context.Context, obj client.Object) (string, error) {
	read, err := live(ctx, obj)
	if err != nil {
		return "", err
	}
	c := conditionOf(read, commonv1.ConditionDegraded)
	if c == nil || c.Status != metav1.ConditionTrue {
		return "", nil
	}
	return strings.TrimSpace(c.Message), nil
}
