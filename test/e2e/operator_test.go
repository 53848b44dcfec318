package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	operatorNamespace  = "mainstay-operator-system"
	operatorDeployment = "mainstay-operator-controller-manager"
	operatorLease      = "mainstay-operator.io"
	operatorUser       = "system:serviceaccount:" + operatorNamespace + ":" + operatorDeployment
)

// operatorPods are the managers, the leader and those in waiting.
func operatorPods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(operatorNamespace),
		client.MatchingLabels{"control-plane": "controller-manager"})).To(Succeed())
	return pods.Items
}

// leaderName is the pod that holds the lease, or "".
func leaderName(ctx context.Context) string {
	GinkgoHelper()
	var lease coordinationv1.Lease
	Expect(client.IgnoreNotFound(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorLease}, &lease))).To(Succeed())
	pod, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	return pod
}

// killLeader removes the leading manager without grace: it can finish nothing.
func killLeader(ctx context.Context) {
	GinkgoHelper()
	leader := &corev1.Pod{}
	leader.Namespace, leader.Name = operatorNamespace, leaderName(ctx)
	Expect(leader.Name).NotTo(BeEmpty(), "nobody leads")
	Expect(k8s.Delete(ctx, leader, client.GracePeriodSeconds(0))).To(Succeed())
}

// restartOperator replaces every manager and waits until one of the new ones leads.
func restartOperator(ctx context.Context) {
	GinkgoHelper()
	old := operatorPods(ctx)
	for i := range old {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, &old[i]))).To(Succeed())
	}
	for i := range old {
		eventuallyGone(ctx, &old[i])
	}
	eventuallyOperatorLeads(ctx)
}

// eventuallyOperatorLeads waits until all managers are ready and one of them leads.
func eventuallyOperatorLeads(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var manager appsv1.Deployment
		g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorDeployment}, &manager)).To(Succeed())
		g.Expect(manager.Status.ObservedGeneration).To(Equal(manager.Generation))
		g.Expect(manager.Status.UpdatedReplicas).To(Equal(*manager.Spec.Replicas))
		g.Expect(manager.Status.AvailableReplicas).To(Equal(*manager.Spec.Replicas))
		g.Expect(manager.Status.Replicas).To(Equal(*manager.Spec.Replicas))
		names := []string{}
		for _, pod := range operatorPods(ctx) {
			names = append(names, pod.Name)
		}
		g.Expect(names).To(ContainElement(leaderName(ctx)), "the leader is one of those that run")
	}).WithContext(ctx).Should(Succeed())
}
