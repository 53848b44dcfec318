package integration

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Quiet:", func() {
	forEachKind("writes nothing at rest, however often it is woken, nor after a restart, and reads each content once for each version",
		func(ctx SpecContext, k kind) {
			namespace := k.newNamespace(ctx)
			o := operate(namespace)
			obj := k.create(ctx, namespace)
			waitForRest(o)

			const touches = 5
			for pass := range touches {
				before := passes(k)
				touch(ctx, obj, pass)
				Eventually(passes).WithArguments(k).Should(BeNumerically(">", before))
			}
			Consistently(o.Calls).WithArguments(workWithoutContentReads).Should(BeEmpty())
			Expect(mostContentReads(o)).To(BeNumerically("<=", touches))
			at := versions(ctx, namespace)

			o.stop()
			before := passes(k)
			restarted := operate(namespace)
			Eventually(passes).WithArguments(k).Should(BeNumerically(">", before))
			Consistently(restarted.Calls).WithArguments(func(c fault.Call) bool { return workWithoutContentReads(c) && k.work(c) }).Should(BeEmpty())
			Expect(mostContentReads(restarted)).To(BeNumerically("<=", 1))
			Expect(versions(ctx, namespace)).To(Equal(at))
		})

	forEachKind("writes each child once, and the status at most maxStatusWrites times, to create one", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		k.create(ctx, namespace)
		calls := map[string]int{}
		for _, c := range o.Calls(writes) {
			calls[c.ID()]++
		}
		for id, times := range calls {
			most := 1
			if strings.Contains(id, "/status") {
				most = k.maxStatusWrites
			}
			Expect(times).To(BeNumerically("<=", most), "%s in %v", id, calls)
		}
		reads := o.Calls(func(c fault.Call) bool { return c.Verb == "get" && k.work(c) })
		Expect(reads).NotTo(ContainElement(HaveField("Bare", false)))
		Expect(len(reads)).To(BeNumerically("<=", 1), "a StatefulSet may adopt pods, so the object is confirmed before: %v", reads)
	})
})

// mostContentReads is how often the Secret or ConfigMap was read whole that was read most often.
func mostContentReads(o *operator) (most int) {
	reads := map[string]int{}
	for _, c := range o.Calls(isContentRead) {
		reads[c.ID()]++
		most = max(most, reads[c.ID()])
	}
	return most
}

// isContentRead reports whether the call reads one Secret or ConfigMap whole.
func isContentRead(c fault.Call) bool {
	return c.Verb == "get" && !c.Bare && (c.Resource == "secrets" || c.Resource == "configmaps")
}

// workWithoutContentReads is all work but reading what the caches leave out.
func workWithoutContentReads(c fault.Call) bool { return work(c) && !isContentRead(c) }

// waitForRest waits until the operator has nothing more to do, and forgets its calls.
func waitForRest(o *operator) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		o.Forget()
		g.Consistently(o.Calls).WithArguments(work).Should(BeEmpty())
	}).Should(Succeed())
}

// waitForRoles waits until the pods of a Redis say which of them is master: after a failover that comes last.
func waitForRoles(ctx context.Context, redis *cachev1alpha1.Redis) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(redis), redis)).To(Succeed())
		for n := range *redis.Spec.Size {
			var pod corev1.Pod
			g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: redis.Namespace, Name: fmt.Sprintf("%s-%d", redis.Name, n)}, &pod)).To(Succeed())
			role := "replica"
			if pod.Name == redis.Status.Master {
				role = "master"
			}
			g.Expect(pod.Labels).To(HaveKeyWithValue("mainstay-operator.io/role", role))
			g.Expect(pod.Status.Conditions).To(ContainElement(And(
				HaveField("Type", corev1.PodConditionType("mainstay-operator.io/in-sync")), HaveField("Status", corev1.ConditionTrue))))
		}
	}).WithTimeout(time.Minute).Should(Succeed())
}

// touch labels all children and pods as somebody else would: each wakes the
// owner. (An annotation would raise a Deployment's generation.)
func touch(ctx context.Context, obj client.Object, pass int) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"example.org/touched":"%d"}}}`, pass))
	found, err := childrenIn(ctx, obj.GetNamespace())
	Expect(err).NotTo(HaveOccurred())
	for _, child := range found {
		Expect(admin.Patch(ctx, child, patch)).To(Succeed())
	}
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(obj.GetNamespace()))).To(Succeed())
	for i := range pods.Items {
		Expect(admin.Patch(ctx, &pods.Items[i], patch)).To(Succeed())
	}
}

// passes counts the passes over objects of the kind, by all operators so far.
func passes(k kind) float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == strings.ToLower(k.name) {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}
