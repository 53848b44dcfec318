package olm

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

// setTargetNamespaces has OLM let the operator look after these namespaces alone.
func setTargetNamespaces(ctx context.Context, targets ...string) {
	GinkgoHelper()
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: olm.Namespace, Name: olm.Package}}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(group), group)).To(Succeed())
	group.Spec.TargetNamespaces = targets
	Expect(k8s.Update(ctx, group)).To(Succeed())
	// Every manager is one of these namespaces', and one of them leads.
	Eventually(func(g Gomega) {
		pods, err := cluster.Operators(ctx, k8s)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods).To(HaveLen(2))
		for _, pod := range pods {
			g.Expect(strings.Split(pod.Annotations["olm.targetNamespaces"], ",")).To(ConsistOf(targets), pod.Name)
			g.Expect(pod.DeletionTimestamp.IsZero()).To(BeTrue())
		}
		g.Expect(cluster.Leads(ctx, k8s)).To(Succeed())
	}).WithContext(ctx).Should(Succeed())
}

// looksAfter is true of the namespaces whose Memcached gets Ready, in each of which one is made.
func looksAfter(ctx context.Context, these, notThose []string) {
	GinkgoHelper()
	made := func(namespace string) *cachev1alpha1.Memcached {
		m := builders.Memcached("mode").In(namespace).Image("").Build()
		Expect(client.IgnoreAlreadyExists(k8s.Create(ctx, m))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, m))).To(Succeed()) })
		return m
	}
	var others []*cachev1alpha1.Memcached
	for _, namespace := range notThose {
		others = append(others, made(namespace))
	}
	for _, namespace := range these {
		m := made(namespace)
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
			g.Expect(m.Status.Conditions).To(ContainElement(And(HaveField("Type", commonv1.ConditionReady),
				HaveField("Status", metav1.ConditionTrue))))
		}).WithContext(ctx).Should(Succeed())
	}
	for _, m := range others {
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
		Expect(m.Status.ObservedGeneration).To(BeEquivalentTo(-1), "in %s, which is not the operator's", m.Namespace)
	}
}
