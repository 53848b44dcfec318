package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// injectedImage has a shell; it is the default of an Activity.
const injectedImage = "docker.io/library/busybox:1.37"

var (
	continues = fault.Injected{Name: "continues", Image: injectedImage, Where: fault.Regular,
		Script: "trap 'exit 0' TERM; sleep 3600 & wait"}
	fails       = fault.Injected{Name: "fails", Image: injectedImage, Where: fault.Regular, Script: "exit 9"}
	endsFirst   = fault.Injected{Name: "ends-first", Image: injectedImage, Where: fault.Regular, Script: "exit 0"}
	native      = fault.Injected{Name: "native", Image: injectedImage, Where: fault.Sidecar, Script: "trap 'exit 9' TERM; sleep 3600 & wait"}
	failsBefore = fault.Injected{Name: "fails-before", Image: injectedImage, Where: fault.Before, Script: "exit 9"}
)

// inject has the spec's namespace add the container to those who ask for it.
func inject(ctx context.Context, in fault.Injected) func(*egov1.ActivitySpec) {
	GinkgoHelper()
	undo, err := in.Inject(ctx, k8s, namespace)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(undo()).To(Succeed()) })
	return func(s *egov1.ActivitySpec) {
		s.PodLabels = map[string]string{fault.InjectLabel: in.Name}
		s.TerminationGracePeriodSeconds = ptr.To[int64](2)
	}
}

// within gives a timeout, after which another attempt would follow.
func within(timeout time.Duration) func(*egov1.ActivitySpec) {
	return func(s *egov1.ActivitySpec) {
		s.Timeout = &metav1.Duration{Duration: timeout}
		s.RetryPolicy = egov1.RetryPolicy{Causes: []egov1.RetryCause{egov1.RetryFailed, egov1.RetryTimedOut}, Backoff: &metav1.Duration{}}
	}
}

var _ = Describe("Activity next to an injected container", longest, SemVerConstraint(fault.InjectionNeeds), func() {
	DescribeTable("ends with its command and its exit code, and runs it no more often, with and without timeout and retries",
		func(ctx SpecContext, in fault.Injected) {
			injected, w := inject(ctx, in), newWitness(ctx)
			always, minute := func(*egov1.ActivitySpec) {}, within(time.Minute)
			runs, all := []string{}, map[*egov1.Activity]int{} // → how many attempts
			for _, c := range []struct {
				name, command string
				limit         func(*egov1.ActivitySpec)
				retries       int32
				attempts      int
			}{ // a pod takes seconds to compute: each pair of the three is there, not each triple
				{"plain-well", "sleep 3", always, 2, 1},
				{"plain-badly", "sleep 3; exit 7", always, 0, 1},
				{"timed-well", "sleep 3", minute, 0, 1},
				{"timed-badly-again", "sleep 3; case $HOSTNAME in *-1) exit 7;; esac", minute, 2, 2},
			} {
				a := w.watching(c.name, c.command).Retries(c.retries).With(c.limit).With(injected).Build()
				create(ctx, a)
				all[a] = c.attempts
			}
			for a, attempts := range all {
				Eventually(func() bool { return prosta(ctx, a).Finished() }).WithContext(ctx).Should(BeTrue())
				want, code := egov1.Succeeded, 0
				if a.Name == "plain-badly" {
					want, code = egov1.Failed, 7
				}
				Expect(a.Status.Prosta).To(Equal(want), "%s: %+v", a.Name, a.Status)
				Expect(a.Status.ExitCode).To(HaveValue(BeEquivalentTo(code)), a.Name)
				Expect(a.Status.Attempts).To(HaveLen(attempts), "%s: %+v", a.Name, a.Status)
				if attempts == 2 {
					Expect(a.Status.Attempts[0].ExitCode).To(HaveValue(BeEquivalentTo(7)))
				}
				for _, attempt := range a.Status.Attempts {
					runs = append(runs, attempt.PodName)
				}
				eventuallyLetGo(ctx, a)
				Eventually(running).WithArguments(ctx, a).WithContext(ctx).Should(BeEmpty())
			}
			Expect(w.says(ctx)).To(ConsistOf(runs))
		},
		Entry("that continues", continues), Entry("that fails", fails), Entry("that ends first", endsFirst),
		Entry("that is a sidecar of Kubernetes' own", native),
	)

	It("times out when its command does, and not for another's sake", func(ctx SpecContext) {
		slow := builders.Activity("slow", "sleep 600").With(within(8 * time.Second)).With(inject(ctx, continues)).Build()
		create(ctx, slow)
		eventually(ctx, slow, commonv1.ConditionFailed, metav1.ConditionTrue)
		Expect(slow.Status.Prosta).To(Equal(egov1.TimedOut))
	})

	It("is tried again when another container kept its command from starting", func(ctx SpecContext) {
		injected, w := inject(ctx, failsBefore), newWitness(ctx)
		a := w.watching("held", "true").Retries(1).With(injected).Build()
		create(ctx, a)
		eventually(ctx, a, commonv1.ConditionFailed, metav1.ConditionTrue)
		Expect(a.Status.Attempts).To(HaveLen(2))
		Expect(a.Status.Attempts).To(HaveEach(And(HaveField("Reason", commonv1.ReasonNotStarted), HaveField("ExitCode", BeNil()))))
		b := w.watching("free", "true").Build()
		create(ctx, b)
		eventually(ctx, b, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(w.says(ctx)).To(ConsistOf(b.Status.Attempts[0].PodName))
	})

	It("succeeded, and does not run again, though its pod timed out while no operator looked", Label(faults, away), func(ctx SpecContext) {
		injected, w, program := inject(ctx, continues), newWitness(ctx), built(ctx)
		p := launch(ctx, program)
		a := w.watching("unseen", "sleep 10").Retries(3).With(within(40 * time.Second)).With(injected).Build()
		create(ctx, a)
		Eventually(prosta).WithArguments(ctx, a).Should(Equal(egov1.Running))
		p.kill()
		Expect(prosta(ctx, a)).To(Equal(egov1.Running), "its end was seen too early")
		pods := func() []corev1.Pod { return podsOf(ctx, "activity", a.Name) }
		Eventually(pods).WithContext(ctx).Should(HaveExactElements(HaveField("Status.Reason", commonv1.ReasonDeadlineExceeded)))
		launch(ctx, program)
		eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(a.Status.ExitCode).To(HaveValue(BeZero()))
		Expect(a.Status.Attempts).To(HaveLen(1))
		Expect(w.says(ctx)).To(ConsistOf(a.Status.Attempts[0].PodName))
	})
})

// running are the pods of an Activity that have not ended.
func running(ctx context.Context, a *egov1.Activity) []string {
	GinkgoHelper()
	names := []string{}
	for _, p := range podsOf(ctx, "activity", a.Name) {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			names = append(names, p.Name)
		}
	}
	return names
}
