package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("Activity's guard", func() {
	It("comes from the operator's image, says what keeps it away, and leaves a command that did not run to be retried", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		a := builders.Activity("a", "tool").In(namespace).Retries(1).With(func(s *egov1.ActivitySpec) {
			s.Args, s.Image = []string{"a"}, "example.org/tool"+broken // the suite's kubelet starts no such pod
		}).Build()
		Expect(admin.Create(ctx, a)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonPodFailing).Should(Succeed())
		pod := runs(ctx, a, 1)
		Expect(pod.Spec.InitContainers).To(HaveExactElements(And(HaveField("Name", "guard"), HaveField("Image", ownImage))))

		setPodStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.InitContainerStatuses = guardIs(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
				Message: "unauthorized"}})
		})
		Eventually(func(g Gomega) {
			read, err := live(ctx, a)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(conditionOf(read, commonv1.ConditionDegraded).Message).To(And(
				ContainSubstring("container guard"), ContainSubstring(ownImage), ContainSubstring("unauthorized"),
				ContainSubstring("imagePullSecrets")))
		}).Should(Succeed())

		setPodStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.Phase = corev1.PodFailed
			s.InitContainerStatuses = guardIs(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 125, Reason: "Error",
				Message: "no space"}})
		})
		runs(ctx, a, 2)
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		first := a.Status.Attempts[0]
		Expect(first.Prosta).To(Equal(egov1.Failed))
		Expect(first.Reason).To(Equal(commonv1.ReasonNotStarted))
		Expect(first.Message).To(And(ContainSubstring("did not run"), ContainSubstring("brings the guard"), ContainSubstring("no space")))
		Expect(first.ExitCode).To(BeNil())
		Expect(a.Status.Attempts).To(HaveEach(HaveField("GuardImage", ownImage)))
	})

	It("is the operator's also where a shell reads the command", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		a := builders.Activity("a", "true").In(namespace).Build()
		Expect(admin.Create(ctx, a)).To(Succeed())
		pod := runs(ctx, a, 1)
		Expect(pod.Spec.InitContainers).To(HaveExactElements(HaveField("Image", ownImage)))
		Expect(pod.Spec.Containers[0].Args).To(HaveExactElements("/bin/sh", "-c", "true"))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		Expect(a.Status.Attempts).To(HaveEach(HaveField("GuardImage", ownImage)))
	})
})

// runs waits for so many attempts, and for the pod of the last to be let start.
func runs(ctx context.Context, a *egov1.Activity, attempts int) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{}
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		g.Expect(a.Status.Attempts).To(HaveLen(attempts))
		g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: a.Status.Attempts[attempts-1].PodName}, pod)).To(Succeed())
		g.Expect(pod.Spec.SchedulingGates).To(BeEmpty())
	}).Should(Succeed())
	return pod
}

// setPodStatus says of a pod what a kubelet says.
func setPodStatus(ctx context.Context, pod *corev1.Pod, change func(*corev1.PodStatus)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		change(&pod.Status)
		return admin.Status().Update(ctx, pod)
	}).Should(Succeed())
}

func guardIs(state corev1.ContainerState) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{Name: "guard", Image: ownImage, State: state}}
}
