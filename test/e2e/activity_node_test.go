package e2e

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Activity, its node silent,", Serial, Label(faults), func() {
	It("runs on, says so, and ends once", func(ctx SpecContext) {
		started := startedPods(ctx)
		a := builders.Activity("far", "until test -e /tmp/end; do sleep 1; done; echo done").Retries(1).Build()
		create(ctx, a)
		Eventually(prosta).WithArguments(ctx, a).Should(Equal(egov1.Running))
		kubelet, err := cluster.Kubelet()
		Expect(err).NotTo(HaveOccurred())
		undo, err := fault.HangProcess(kubelet)
		Expect(err).NotTo(HaveOccurred())
		undo = sync.OnceValue(undo)
		DeferCleanup(eventuallyOperatorLeads) // its pods may be given up for as long as the node has taints
		DeferCleanup(eventuallyUntainted, client.ObjectKey{Name: podsOf(ctx, "activity", "far")[0].Spec.NodeName})
		DeferCleanup(func() { Expect(undo()).To(Succeed()) })

		silent := eventually(ctx, a, commonv1.ConditionNodeReachable, metav1.ConditionFalse)
		Expect(silent.Message).To(ContainSubstring(a.Status.NodeName))
		Expect(a.Status.Prosta).To(Equal(egov1.Running))
		Expect(undo()).To(Succeed())
		eventually(ctx, a, commonv1.ConditionNodeReachable, metav1.ConditionTrue)
		kubectl(ctx, "exec", podsOf(ctx, "activity", "far")[0].Name, "--", "touch", "/tmp/end")
		eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(a.Status.OutputTail).To(Equal("done\n"))
		Expect(a.Status.Attempts).To(HaveLen(1))
		Expect(started()).To(ConsistOf(a.Status.Attempts[0].PodUID))
	})
})

// eventuallyUntainted waits until nothing of the silence of a Kubernetes node is left: its taints go some seconds after it is heard of
// again.
func eventuallyUntainted(ctx context.Context, kubernetesNode client.ObjectKey) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var found corev1.Node
		g.Expect(k8s.Get(ctx, kubernetesNode, &found)).To(Succeed())
		g.Expect(found.Spec.Taints).To(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
}
