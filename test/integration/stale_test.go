package integration

import (
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Stale caches:", func() {
	held := []string{"statefulsets", "deployments", "services", "configmaps", "poddisruptionbudgets", "secrets"}
	toChildren := func(c fault.Call) bool {
		return writes(c) && !strings.HasSuffix(c.Resource, "/status")
	}

	forEachKind("never claim a new generation Ready, repeat no write, and believe no child older than a write", func(ctx SpecContext, k kind) {
		if k.edit == nil || k.paused == nil {
			return // nothing of it is edited
		}
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		obj := k.create(ctx, namespace)
		first := stateAtRest(ctx, o, k, obj)
		waitForRest(o)

		o.HoldWatches(held...)
		update(ctx, obj, k.edit)
		Eventually(o.Calls).WithArguments(toChildren).ShouldNot(BeEmpty())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionFalse).Should(Succeed())
		written := len(o.Calls(toChildren))
		before := passes(k)
		update(ctx, obj, func(obj client.Object) { obj.SetLabels(map[string]string{"woken": "1"}) })
		Eventually(passes).WithArguments(k).Should(BeNumerically(">", before))
		Consistently(func(g Gomega) {
			g.Expect(checkCondition(ctx, obj, commonv1.ConditionReady, metav1.ConditionFalse)).To(Succeed())
			g.Expect(k.done(ctx, obj)).NotTo(Succeed())
		}).Should(Succeed())
		Expect(o.Calls(toChildren)).To(HaveLen(written), "the same written twice")

		sample := k.sample()
		update(ctx, obj, func(o client.Object) { setSpec(o, sample); o.SetLabels(nil) }) // what the cache still shows
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionFalse).Should(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(checkCondition(ctx, obj, commonv1.ConditionReady, metav1.ConditionFalse)).To(Succeed())
			g.Expect(k.done(ctx, obj)).NotTo(Succeed())
		}).Should(Succeed())
		o.ReleaseWatches()
		Expect(firstDifference(first, stateAtRest(ctx, o, k, obj))).To(Equal(same))
	})

	forEachKind("do not make a stranger of our own new child", func(ctx SpecContext, k kind) {
		if k.paused == nil {
			return // its protocol reads live
		}
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		o.HoldWatches(held...)
		obj := k.sample()
		obj.SetNamespace(namespace)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(o.Calls).WithArguments(toChildren).ShouldNot(BeEmpty())
		for pass := range 3 {
			before := passes(k)
			update(ctx, obj, func(obj client.Object) { obj.SetLabels(map[string]string{"woken": string(rune('a' + pass))}) })
			Eventually(passes).WithArguments(k).Should(BeNumerically(">", before))
		}
		read, err := live(ctx, obj)
		Expect(err).NotTo(HaveOccurred())
		if c := conditionOf(read, commonv1.ConditionReady); c != nil {
			Expect(c.Reason).NotTo(Equal(commonv1.ReasonNameConflict))
		}
		o.ReleaseWatches()
		k.rest(ctx, obj)
	})

	forEachKind("change and delete nothing by an object older than the API server's", func(ctx SpecContext, k kind) {
		if k.edit == nil {
			return // its spec cannot change
		}
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		obj := k.create(ctx, namespace, k.edit)
		waitForRest(o)
		gvk, err := admin.GroupVersionKindFor(obj)
		Expect(err).NotTo(HaveOccurred())
		mapping, err := admin.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		Expect(err).NotTo(HaveOccurred())
		resource := mapping.Resource.Resource

		o.HoldWatches(resource)
		sample := k.sample()
		update(ctx, obj, func(obj client.Object) { setSpec(obj, sample) })
		newer := operate(namespace) // which sees the edit
		k.rest(ctx, obj)
		waitForRest(newer)
		newer.stop()
		touch(ctx, obj, 0)
		Eventually(o.Calls).WithArguments(func(c fault.Call) bool {
			return c.Verb == "get" && c.Resource == resource && c.Bare
		}).ShouldNot(BeEmpty(), "it wants to change nothing")
		Consistently(o.Calls).WithArguments(func(c fault.Call) bool {
			return toChildren(c) && c.Verb != "create" && c.Code != http.StatusCreated && c.Code != http.StatusConflict
		}).Should(BeEmpty())
		want := versions(ctx, namespace)

		o.ReleaseWatches()
		waitForRest(o)
		Expect(versions(ctx, namespace)).To(Equal(want))
	})
})
