package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

const (
	operatorNamespace = cluster.OperatorNamespace
	operatorUser      = "system:serviceaccount:" + operatorNamespace + ":" + cluster.OperatorDeployment
)

// killLeader removes the leading manager without grace: it can finish nothing.
func killLeader(ctx context.Context) {
	GinkgoHelper()
	leader := &corev1.Pod{}
	var err error
	leader.Namespace = operatorNamespace
	leader.Name, err = cluster.Leader(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	Expect(leader.Name).NotTo(BeEmpty(), "nobody leads")
	Expect(k8s.Delete(ctx, leader, client.GracePeriodSeconds(0))).To(Succeed())
}

// restartOperator replaces every manager and waits until one of the new ones leads.
func restartOperator(ctx context.Context) {
	GinkgoHelper()
	old, err := cluster.Operators(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
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
	Eventually(cluster.Leads).WithContext(ctx).WithArguments(k8s).Should(Succeed())
}
