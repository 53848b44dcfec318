package integration

import (
	"context"
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// spokenOf is nil once the operator has said anything of the object.
func spokenOf(ctx context.Context, obj client.Object) error {
	read, err := live(ctx, obj)
	if err == nil && conditionOf(read, commonv1.ConditionProgressing) == nil {
		err = errors.New("no pass has looked at it")
	}
	return err
}

// A schema admits quantities that Go cannot read, and statuses anything of the right type.
// Of a list that holds one object with such a value, a client otherwise reads nothing.
var _ = Describe("an object that cannot be read", func() {
	const limit = "example.org/gpu"
	forEachKindAndRunning("keeps the operator from no other, says which field it is, and heals", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		obj := k.sample()
		obj.SetNamespace(namespace)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		set := func(spec, status any) {
			GinkgoHelper()
			read, err := live(ctx, obj)
			Expect(err).NotTo(HaveOccurred())
			if k.name == runningActivity.name { // its schema leaves nothing of the spec to chance
				read.Object["status"] = map[string]any{"duration": status, "attempts": []any{}}
				Expect(admin.Status().Update(ctx, read)).To(Succeed())
				return
			}
			Expect(unstructured.SetNestedField(read.Object, spec, "spec", "resources", "limits", limit)).To(Succeed())
			Expect(admin.Update(ctx, read)).To(Succeed())
		}
		set("1e1.5", "soon")

		o := operate(namespace)
		other := k.sample()
		other.SetNamespace(namespace)
		other.SetName("other")
		Expect(admin.Create(ctx, other)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonInvalidSpec).Should(Succeed())
		read, err := live(ctx, obj)
		Expect(err).NotTo(HaveOccurred())
		Expect(conditionOf(read, commonv1.ConditionDegraded).Message).To(Or(HavePrefix("resources: "), HavePrefix("status.duration: ")))
		Eventually(func() error { return spokenOf(ctx, other) }).Should(Succeed())
		waitForRest(o)

		Expect(admin.Delete(ctx, other)).To(Succeed())
		set("1", "1s")
		k.rest(ctx, obj)
	})
})

// The schema of a condition bounds its reason and its message, which are others' words.
// One that does not fit would keep the whole status from being written, for ever.
var _ = Describe("others' words", func() {
	It("are cut to what a condition takes: the server's of a refusal that quotes the spec", func(ctx SpecContext) {
		e := builders.EasyService("a").In(newNamespace(ctx)).With(func(s *appv1.EasyServiceSpec) {
			s.Envs = []corev1.EnvVar{{Name: strings.Repeat("=é", 30_000)}}
		}).Build()
		Expect(admin.Create(ctx, e)).To(Succeed())
		operate(e.Namespace)
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonRefusedByServer).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
		Expect(meta.FindStatusCondition(e.Status.Conditions, commonv1.ConditionDegraded).Message).To(ContainSubstring("env[0].name"))
		Eventually(func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(admin.List(ctx, &events, client.InNamespace(e.Namespace))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(HaveField("Reason", commonv1.ReasonRefusedByServer)))
		}).Should(Succeed())
	})

	DescribeTable("are for a human when they are of a key that a list holds twice",
		func(ctx SpecContext, field string, change func(*appv1.EasyServiceSpec)) {
			e := builders.EasyService("a").In(newNamespace(ctx)).With(change).Build()
			Expect(admin.Create(ctx, e)).To(Succeed())
			operate(e.Namespace)
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
				commonv1.ReasonRefusedByServer).Should(Succeed())
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
			Expect(meta.FindStatusCondition(e.Status.Conditions, commonv1.ConditionDegraded).Message).To(ContainSubstring(field))
		},
		Entry("imagePullSecrets", "imagePullSecrets", func(s *appv1.EasyServiceSpec) {
			s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "twice"}, {Name: "twice"}}
		}),
		Entry("topologySpreadConstraints", "topologySpreadConstraints", func(s *appv1.EasyServiceSpec) {
			rack := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule}
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{rack, rack}
		}),
	)

	It("are spelled as a condition takes them: the kubelet's of a pod that it turns away", func(ctx SpecContext) {
		a := builders.Activity("a", "true").In(newNamespace(ctx)).With(func(s *egov1.ActivitySpec) { s.Image = "example.org/a" + broken }).Build()
		Expect(admin.Create(ctx, a)).To(Succeed())
		operate(a.Namespace)
		Eventually(func(g Gomega) {
			var pods corev1.PodList
			g.Expect(admin.List(ctx, &pods, client.InNamespace(a.Namespace))).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(1))
			pod := &pods.Items[0]
			g.Expect(pod.Spec.SchedulingGates).To(BeEmpty())
			pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "OutOfephemeral-storage", "Pod was rejected"
			pod.Status.StartTime = ptr.To(metav1.Now())
			g.Expect(admin.Status().Update(ctx, pod)).To(Succeed())
		}).Should(Succeed())
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionFailed, metav1.ConditionTrue,
			"OutOfephemeral_storage").Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		Expect(a.Status.Reason).To(Equal("OutOfephemeral-storage"))
	})
})
