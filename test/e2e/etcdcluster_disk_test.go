package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("An EtcdCluster on its nodes' disks", longest, func() {
	It("is full before its pods are evicted, and accepts writes again", func(ctx SpecContext) {
		e := builders.EtcdCluster("bounded").Size(3).Quota("1Gi").With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("640Mi")}
		}).Build()
		create(ctx, e)
		By("refusing a quota without room")
		why := eventually(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue)
		Expect(why).To(And(HaveField("Reason", commonv1.ReasonInvalidSpec),
			HaveField("Message", ContainSubstring("set resources.limits.ephemeral-storage to 1580Mi or more, or quota to 84Mi or less"))))
		Expect(podsOf(ctx, "etcd", e.Name)).To(BeEmpty())

		By("filling all that the limit leaves by default")
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Quota = nil })
		eventuallyReady(ctx, e)
		pods, before := podsOf(ctx, "etcd", e.Name), podUIDs(ctx, "etcd", e.Name)
		etcd, keys := dialEtcd(e, nil), 0
		Eventually(func(ctx context.Context) error {
			keys++
			_, err := etcd.Put(ctx, fmt.Sprintf("large/%04d", keys), strings.Repeat("x", 1<<20))
			return err
		}).WithContext(ctx).Should(MatchError(ContainSubstring("database space exceeded")))
		Eventually(func(g Gomega) { // by then the operator may have ended the alarm by a defragmentation
			refresh(ctx, e)
			degraded := condition(e, commonv1.ConditionDegraded)
			g.Expect(degraded.Reason).To(Or(Equal(commonv1.ReasonNoSpace), Equal(commonv1.ReasonQuotaNearlyReached)), degraded.Message)
		}).WithContext(ctx).Should(Succeed())

		By("waiting until the kubelet has counted that")
		for _, pod := range pods {
			Eventually(diskUsed).WithArguments(ctx, pod).WithContext(ctx).Should(BeNumerically(">=", int64(keys-2)<<20))
		}
		Expect(podUIDs(ctx, "etcd", e.Name)).To(Equal(before), "a pod was evicted")

		By("deleting keys")
		Eventually(func(ctx context.Context) error { // a server that is being defragmented may not answer in time
			_, err := etcd.Delete(ctx, "large/", clientv3.WithPrefix())
			return err
		}).WithContext(ctx).Should(Succeed())
		Eventually(func(ctx context.Context) error {
			_, err := etcd.Put(ctx, "one", "short")
			return err
		}).WithContext(ctx).Should(Succeed())
		Expect(podUIDs(ctx, "etcd", e.Name)).To(Equal(before), "a pod was evicted")
	})
})

// diskUsed is what the kubelet counts against the limit of ephemeral storage of a pod, in bytes: it evicts by that figure.
func diskUsed(ctx context.Context, pod corev1.Pod) (int64, error) {
	var summary struct {
		Pods []struct {
			PodRef           struct{ UID string }
			EphemeralStorage struct{ UsedBytes int64 } `json:"ephemeral-storage"`
		}
	}
	text := kubectl(ctx, "get", "--raw", "/api/v1/nodes/"+pod.Spec.NodeName+"/proxy/stats/summary")
	if err := json.Unmarshal([]byte(text), &summary); err != nil {
		return 0, err
	}
	for _, p := range summary.Pods {
		if p.PodRef.UID == string(pod.UID) {
			return p.EphemeralStorage.UsedBytes, nil
		}
	}
	return 0, fmt.Errorf("the kubelet does not know pod %s any more", pod.Name)
}
