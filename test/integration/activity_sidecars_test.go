package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Activity next to an injected container", SemVerConstraint(fault.InjectionNeeds), func() {
	// operated runs an Activity whose pod has the container, up to its first start.
	operated := func(ctx context.Context, where string) (*egov1.Activity, *corev1.Pod) {
		GinkgoHelper()
		namespace := newNamespace(ctx)
		undo, err := fault.Injected{Name: "other", Image: "example.org/other", Script: "exit 0", Where: where}.Inject(ctx, admin, namespace)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(undo()).To(Succeed()) })
		operate(namespace)
		a := builders.Activity("a", "true").In(namespace).Retries(1).With(func(s *egov1.ActivitySpec) {
			s.PodLabels = map[string]string{fault.InjectLabel: "other"}
		}).Build()
		Expect(admin.Create(ctx, a)).To(Succeed())
		pod := runs(ctx, a, 1)
		Expect(len(pod.Spec.Containers)+len(pod.Spec.InitContainers)).To(Equal(3), "the command, its guard and the other")
		return a, pod
	}
	now := func() corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	}
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", StartedAt: metav1.Now(),
			FinishedAt: metav1.Now()}}
	}
	containers := func(own, other corev1.ContainerState) func(*corev1.PodStatus) {
		return func(s *corev1.PodStatus) {
			s.Phase = corev1.PodRunning
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "activity", ContainerID: "test://1", State: own}, {Name: "other", State: other}}
		}
	}

	It("ends with its command, records that, and then removes the pod that continues", func(ctx SpecContext) {
		a, pod := operated(ctx, fault.Regular)
		setPodStatus(ctx, pod, containers(now(), now()))
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(pod.Annotations).To(HaveKeyWithValue("mainstay-operator.io/started", "test://1"))
		}).Should(Succeed())
		setPodStatus(ctx, pod, containers(ended(3), now()))
		second := runs(ctx, a, 2)
		Expect(a.Status.Attempts[0]).To(And(HaveField("Prosta", egov1.Failed), HaveField("ExitCode", HaveValue(BeEquivalentTo(3)))))
		Eventually(func() bool { return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(pod), pod)) }).Should(BeTrue())

		By("another failing, which is not the command's affair")
		setPodStatus(ctx, second, containers(now(), ended(9)))
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionDegraded, metav1.ConditionFalse,
			commonv1.ReasonAsExpected).Should(Succeed())
		setPodStatus(ctx, second, func(s *corev1.PodStatus) { containers(ended(0), ended(9))(s); s.Phase = corev1.PodFailed })
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue,
			commonv1.ReasonExited).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		Expect(a.Status.Attempts).To(HaveLen(2))
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(second), second)).To(Succeed(), "a pod that has ended stays")
			g.Expect(second.Finalizers).To(BeEmpty())
		}).Should(Succeed())
	})

	It("is tried again when another container kept the command from starting", func(ctx SpecContext) {
		a, pod := operated(ctx, fault.Before)
		setPodStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.Phase = corev1.PodFailed
			s.InitContainerStatuses = []corev1.ContainerStatus{{Name: "other", State: ended(1)}}
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "activity",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
		})
		runs(ctx, a, 2)
		Expect(a.Status.Attempts[0]).To(And(HaveField("Reason", commonv1.ReasonNotStarted), HaveField("ExitCode", BeNil()),
			HaveField("Message", And(ContainSubstring("init container other"), ContainSubstring("did not run")))))
	})

	It("is lost, and not tried again, when a node restarts its pod", func(ctx SpecContext) {
		a, pod := operated(ctx, fault.Regular)
		setPodStatus(ctx, pod, containers(now(), now()))
		Eventually(func() egov1.ProcessState {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
			return a.Status.Prosta
		}).Should(Equal(egov1.Running))
		setPodStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.ContainerStatuses[0] = corev1.ContainerStatus{Name: "activity", RestartCount: 1,
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137,
					Reason: "ContainerStatusUnknown"}}}
		})
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionFailed, metav1.ConditionTrue,
			commonv1.ReasonStartedTwice).Should(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(pod), pod)) }).Should(BeTrue())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		Expect(a.Status.Prosta).To(Equal(egov1.Lost))
		Expect(a.Status.Attempts).To(HaveLen(1))
	})
})
