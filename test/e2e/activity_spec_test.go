package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("Activity's wishes:", func() {
	It("waits while it is suspended, and runs when it is resumed", func(ctx SpecContext) {
		a := builders.Activity("held", "sleep 5; exit 1").Retries(1).With(func(s *egov1.ActivitySpec) { s.Suspend = true }).Build()
		create(ctx, a)
		eventually(ctx, a, commonv1.ConditionSuspended, metav1.ConditionTrue)
		Consistently(func() []corev1.Pod {
			return podsOf(ctx, "activity",
				"held")
		}).WithContext(ctx).WithTimeout(2 * time.Second).Should(BeEmpty())
		edit(ctx, a, func(a *egov1.Activity) { a.Spec.Suspend = false })
		Eventually(prosta).WithArguments(ctx, a).Should(Equal(egov1.Running))

		By("suspending what runs: it continues, and no next attempt starts")
		edit(ctx, a, func(a *egov1.Activity) { a.Spec.Suspend = true })
		Eventually(prosta).WithArguments(ctx, a).Should(Equal(egov1.Suspended))
		Expect(a.Status.Attempts).To(HaveExactElements(HaveField("ExitCode", HaveValue(BeEquivalentTo(1)))))
		edit(ctx, a, func(a *egov1.Activity) { a.Spec.Suspend = false })
		eventually(ctx, a, commonv1.ConditionFailed, metav1.ConditionTrue)
		Expect(a.Status.Attempts).To(HaveLen(2))
		eventuallyLetGo(ctx, a)
	})

	It("does not start too late", func(ctx SpecContext) {
		started := startedPods(ctx)
		soon := func(s *egov1.ActivitySpec) { s.StartDeadline = &metav1.Duration{Duration: 10 * time.Second} }
		nowhere := builders.Activity("nowhere", "true").Retries(1).With(soon).
			With(func(s *egov1.ActivitySpec) { s.Host = "no-such-node" }).Build()
		unpullable := builders.Activity("unpullable", "true").Retries(1).With(soon).
			With(func(s *egov1.ActivitySpec) { s.Image = "localhost:1/no/such:1" }).Build()
		for _, a := range []*egov1.Activity{nowhere, unpullable} {
			create(ctx, a)
		}
		for _, a := range []*egov1.Activity{nowhere, unpullable} {
			Expect(eventually(ctx, a, commonv1.ConditionFailed, metav1.ConditionTrue).Reason).To(Equal(commonv1.ReasonStartDeadlineExceeded), "%+v",
				a.Status)
			Expect(a.Status.Attempts).To(HaveLen(1))
			Expect(a.Status.StartTime).To(BeNil())
			Eventually(podsOf).WithArguments(ctx, "activity", a.Name).WithContext(ctx).Should(BeEmpty())
		}
		Expect(started()).To(HaveLen(2), "both were on their way")
	})

	It("retries what its policy says, and when", func(ctx SpecContext) {
		policy := egov1.RetryPolicy{Backoff: &metav1.Duration{Duration: 2 * time.Second}, ExitCodes: &egov1.ExitCodes{FailOn: []int32{64}}}
		given := func(s *egov1.ActivitySpec) { s.RetryPolicy = policy }
		usage := builders.Activity("usage", "exit 64").Retries(3).With(given).Build()
		flaky := builders.Activity("flaky", `case $HOSTNAME in *-3) exit 0;; esac; exit 1`).Retries(3).With(given).Build()
		slow := builders.Activity("slow", `case $HOSTNAME in *-1) sleep 60;; esac`).Retries(3).With(func(s *egov1.ActivitySpec) {
			s.Timeout, s.TerminationGracePeriodSeconds = &metav1.Duration{Duration: 8 * time.Second}, ptr.To[int64](1)
			s.RetryPolicy = egov1.RetryPolicy{Causes: []egov1.RetryCause{egov1.RetryTimedOut}, Backoff: &metav1.Duration{}}
		}).Build()
		for _, a := range []*egov1.Activity{usage, flaky, slow} {
			create(ctx, a)
		}
		eventually(ctx, usage, commonv1.ConditionFailed, metav1.ConditionTrue)
		Expect(usage.Status.Attempts).To(HaveLen(1))
		eventually(ctx, flaky, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(flaky.Status.Attempts).To(HaveLen(3))
		for i, wait := range []time.Duration{2 * time.Second, 4 * time.Second} {
			ended, started := flaky.Status.Attempts[i].FinishTime, flaky.Status.Attempts[i+1].StartTime
			Expect(started.Sub(ended.Time)).To(BeNumerically(">=", wait))
		}
		eventually(ctx, slow, commonv1.ConditionComplete, metav1.ConditionTrue)
		// A busy node may need the whole timeout to start a pod: that is one more of the same.
		last := len(slow.Status.Attempts) - 1
		Expect(last).To(BeNumerically(">", 0))
		Expect(slow.Status.Attempts[:last]).To(HaveEach(HaveField("Prosta", egov1.TimedOut)))
		Expect(slow.Status.Attempts[last].Prosta).To(Equal(egov1.Succeeded))
	})

	It("works in a volume, with variables from elsewhere, as a user of the namespace", func(ctx SpecContext) {
		claim(ctx, "data")
		create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"},
			Data: map[string]string{"GREETING": "hello", "WHO": "anyone"}})
		create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}, StringData: map[string]string{"TOKEN": "s3cret"}})
		within := func(s *egov1.ActivitySpec) {
			s.Workspace, s.ExecUser = egov1.Workspace{ClaimName: "data"}, "deploy"
			s.EnvFrom = []corev1.EnvFromSource{
				{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "greeting"}}},
				{Prefix: "MY_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "token"}}},
			}
			s.Envs = []string{"WHO=world"} // what is said here wins
		}
		writes := builders.Activity("writes", `echo "$GREETING $WHO ${#MY_TOKEN} $(id -u):$(id -g) $(pwd)" >file`).With(within).Build()
		create(ctx, writes)
		Expect(eventually(ctx, writes, commonv1.ConditionDegraded, metav1.ConditionTrue).Message).To(ContainSubstring("activity-users"))
		create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "activity-users"}, Data: map[string]string{"deploy": "1000:2000"}})
		eventually(ctx, writes, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(writes.Status.ExecUser).To(Equal("1000:2000"))

		reads := builders.Activity("reads", "cat file").With(within).Build()
		create(ctx, reads)
		eventually(ctx, reads, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(reads.Status.OutputTail).To(Equal("hello world 6 1000:2000 /workspace\n"))
	})

	It("works in an empty volume of a size, and keeps the end of what it printed", func(ctx SpecContext) {
		size := func(s *egov1.ActivitySpec) {
			s.Workspace = egov1.Workspace{Size: ptr.To(resource.MustParse("16Mi")), Path: "/srv/work"}
		}
		counts := builders.Activity("counts", `pwd; test -z "$(ls)" && touch file && seq 2000`).With(size).Build()
		short := builders.Activity("short", "echo all").Build()
		for _, a := range []*egov1.Activity{counts, short} {
			create(ctx, a)
			eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
		}
		Expect(counts.Status.OutputTail).To(And(HaveSuffix("\n1999\n2000\n"), Not(ContainSubstring("/srv/work"))))
		Expect(counts.Status.OutputTruncated).To(BeTrue())
		Expect(short.Status.OutputTail).To(Equal("all\n"))
		Expect(short.Status.OutputTruncated).To(BeFalse())
	})

	It("says what it misses, and continues when that is there", func(ctx SpecContext) {
		envs := builders.Activity("envs", `test "$A" = 1`).With(func(s *egov1.ActivitySpec) {
			s.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "later"}}}}
		}).Build()
		volume := builders.Activity("volume", "true").With(func(s *egov1.ActivitySpec) { s.Workspace.ClaimName = "later" }).Build()
		create(ctx, envs)
		create(ctx, volume)
		Expect(eventually(ctx, envs, commonv1.ConditionDegraded, metav1.ConditionTrue).Message).To(ContainSubstring("later"))
		Expect(eventually(ctx, volume, commonv1.ConditionDegraded, metav1.ConditionTrue).Message).To(ContainSubstring("later"))
		create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Data: map[string]string{"A": "1"}})
		claim(ctx, "later")
		eventually(ctx, envs, commonv1.ConditionComplete, metav1.ConditionTrue)
		eventually(ctx, volume, commonv1.ConditionComplete, metav1.ConditionTrue)
	})
})

// claim makes a small volume claim.
func claim(ctx context.Context, name string) {
	GinkgoHelper()
	create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}},
	}})
}

// witness is a file that commands append a line to.
type witness struct{ claim string }

func newWitness(ctx context.Context) witness {
	GinkgoHelper()
	claim(ctx, "witness")
	return witness{"witness"}
}

// seen is put before a command: it writes down which pod runs it.
const seen = `echo "$HOSTNAME" >>witness; `

// watching makes an Activity whose every run the witness sees.
func (w witness) watching(name, command string) *builders.ActivityBuilder {
	return builders.Activity(name, seen+command).With(func(s *egov1.ActivitySpec) { s.Workspace.ClaimName = w.claim })
}

// says gives what it saw, a pod's name for each run of a command.
func (w witness) says(ctx context.Context) []string {
	GinkgoHelper()
	a := builders.Activity(fmt.Sprintf("asks-%d", time.Now().UnixNano()), "cat witness").With(func(s *egov1.ActivitySpec) {
		s.Workspace.ClaimName, s.Output = w.claim, &egov1.Output{TailBytes: ptr.To[int32](32768)}
	}).Build()
	create(ctx, a)
	eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
	Expect(a.Status.OutputTruncated).To(BeFalse())
	return strings.Fields(a.Status.OutputTail)
}
