package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

var _ = Describe("Activity in an image without a shell", func() {
	// The operator's own image is one.
	shellless := func(ctx context.Context, name string, level commonv1.SecurityProfile, command string, args ...string) *egov1.Activity {
		GinkgoHelper()
		a := builders.Activity(name, command).With(func(s *egov1.ActivitySpec) {
			s.Image, s.Args, s.Envs, s.Security = operatorImage(ctx), args, []string{"PATH=/nowhere:/"}, level
		}).Build()
		create(ctx, a)
		return a
	}

	for _, level := range []commonv1.SecurityProfile{commonv1.SecurityRestricted, commonv1.SecurityBaseline} {
		It("runs a command with args and keeps what it printed, "+string(level), func(ctx SpecContext) {
			a := shellless(ctx, "help", level, "manager", "--help")
			eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
			Expect(a.Status.ExitCode).To(HaveValue(BeZero()))
			Expect(a.Status.OutputTail).To(ContainSubstring("leader-elect"))
			Expect(a.Status.Attempts).To(HaveExactElements(HaveField("GuardImage", a.Spec.Image)))
			eventuallyLetGo(ctx, a)
		})
	}

	It("says which command it does not find, with a shell's exit code", func(ctx SpecContext) {
		missing := shellless(ctx, "missing", commonv1.SecurityRestricted, "no-such-command", "a")
		folder := shellless(ctx, "folder", commonv1.SecurityBaseline, "/etc", "a")
		eventually(ctx, missing, commonv1.ConditionFailed, metav1.ConditionTrue)
		Expect(missing.Status.ExitCode).To(HaveValue(BeEquivalentTo(127)))
		Expect(missing.Status.Message).To(And(ContainSubstring("command: no-such-command"), ContainSubstring("/nowhere")))
		eventually(ctx, folder, commonv1.ConditionFailed, metav1.ConditionTrue)
		Expect(folder.Status.ExitCode).To(HaveValue(BeEquivalentTo(126)))
		Expect(folder.Status.Message).To(ContainSubstring("command: /etc"))
	})

	It("says what keeps the guard away when the operator's image cannot be pulled", Label(faults), func(ctx SpecContext) {
		a := builders.Activity("far", "true").With(func(s *egov1.ActivitySpec) {
			s.Args, s.ImagePullPolicy = []string{"a"}, corev1.PullAlways // it is nowhere but on this node
		}).Build()
		create(ctx, a)
		Expect(eventually(ctx, a, commonv1.ConditionDegraded, metav1.ConditionTrue).Message).To(And(
			ContainSubstring("container guard"), ContainSubstring(operatorImage(ctx)), ContainSubstring("imagePullPolicy")))
		edit(ctx, a, func(a *egov1.Activity) { a.Spec.Cancel = true })
		Expect(eventually(ctx, a, commonv1.ConditionFailed, metav1.ConditionTrue).Reason).To(Equal(commonv1.ReasonCancelled))
		Expect(a.Status.StartTime).To(BeNil())
	})

	It("says that nothing ran when the guard does not get into the pod, and takes the shell's when it knows of no other", Label(faults, away),
		func(ctx SpecContext) {
			program := built(ctx)
			given := func(name string) *egov1.Activity {
				a := builders.Activity(name, "echo").Retries(1).With(func(s *egov1.ActivitySpec) { s.Args = []string{"hello"} }).Build()
				create(ctx, a)
				return a
			}
			p := launch(ctx, program, "RELATED_IMAGE_OPERATOR="+sandboxImage) // which has no guard
			unguarded := given("unguarded")
			Expect(eventually(ctx, unguarded, commonv1.ConditionFailed, metav1.ConditionTrue).Reason).To(Equal(commonv1.ReasonNotStarted))
			Expect(unguarded.Status.Attempts).To(HaveLen(2))
			Expect(unguarded.Status.Attempts).To(HaveEach(And(HaveField("Message",
				And(ContainSubstring("brings the guard"), ContainSubstring(sandboxImage))), HaveField("ExitCode", BeNil()))))
			Expect(unguarded.Status.StartTime).To(BeNil())
			p.kill()

			launch(ctx, program, "RELATED_IMAGE_OPERATOR=")
			byHand := given("by-hand")
			eventually(ctx, byHand, commonv1.ConditionComplete, metav1.ConditionTrue)
			Expect(byHand.Status.OutputTail).To(Equal("hello\n"))
			Expect(byHand.Status.Attempts).To(HaveExactElements(HaveField("GuardImage", BeEmpty())))
		})
})

func operatorImage(ctx context.Context) string {
	GinkgoHelper()
	var manager appsv1.Deployment
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: cluster.OperatorNamespace, Name: cluster.OperatorDeployment}, &manager)).To(Succeed())
	return manager.Spec.Template.Spec.Containers[0].Image
}
