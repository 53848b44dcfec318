package e2e

import (
	"fmt"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("Activity", func() {
	// The containerd of Debian 12 discards what it has not read when a container ends.
	It("keeps the end of a long output, or says that it is not there, also of many commands at once", func(ctx SpecContext) {
		all := []*egov1.Activity{}
		for i := range 15 {
			a := builders.Activity(fmt.Sprintf("long-output-%d", i), "yes é | head -n 200000; printf END").Build()
			create(ctx, a)
			all = append(all, a)
		}
		complete := 0
		for _, a := range all {
			eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
			Expect(utf8.ValidString(a.Status.OutputTail)).To(BeTrue())
			Expect(a.Status.OutputTruncated).To(BeTrue())
			Expect(a.Status.OutputComplete).NotTo(BeNil(), "%s: %+v", a.Name, a.Status)
			if !*a.Status.OutputComplete {
				Expect(a.Status.Message).To(ContainSubstring("the end of the output is lost"), a.Name)
				continue
			}
			Expect(a.Status.OutputTail).To(HaveSuffix("é\né\nEND"), a.Name)
			complete++
		}
		// On a busy machine containerd 1.6 may drop the end of what is written when a container ends, whatever the guard does.
		Expect(complete).To(BeNumerically(">", 0))
		AddReportEntry("outputs whose end is there", fmt.Sprintf("%d of %d", complete, len(all)))
	})

	It("gives the command a writable home, unless the spec names one", func(ctx SpecContext) {
		const command = `echo "$HOME"; touch "$HOME/x" && echo writable`
		program := builders.Activity("program", "sh").With(func(s *egov1.ActivitySpec) { s.Args = []string{"-c", command} }).Build()
		line := builders.Activity("line", command).Build()
		named := builders.Activity("named", "echo $HOME").With(func(s *egov1.ActivitySpec) { s.Envs = []string{"HOME=/nowhere"} }).Build()
		for _, a := range []*egov1.Activity{program, line, named} {
			create(ctx, a)
		}
		for a, want := range map[*egov1.Activity]string{program: "/run/mainstay/home\nwritable\n", line: "/run/mainstay/home\nwritable\n",
			named: "/nowhere\n"} {
			eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
			Expect(a.Status.OutputTail).To(Equal(want), a.Name)
		}
	})

	It("reports that the kernel killed a child of the command", func(ctx SpecContext) {
		Expect(k8s.Create(ctx, &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "little-memory"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
				Default: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("48Mi")}}}},
		})).To(Succeed())
		a := builders.Activity("child-killed", "dd if=/dev/zero of=/dev/null bs=300M count=1; echo \"the child ended with $?\"").Build()
		create(ctx, a)
		Eventually(func() bool { return prosta(ctx, a).Finished() }).WithContext(ctx).Should(BeTrue())
		if a.Status.Reason == "OOMKilled" { // with cgroup v2 the kubelet has the kernel kill the whole container
			Expect(a.Status.ExitCode).To(HaveValue(BeEquivalentTo(137)))
			return
		}
		Expect(condition(a, commonv1.ConditionComplete).Message).To(And(
			ContainSubstring("killed 1 process"), ContainSubstring("memory limit"), ContainSubstring("48Mi")), "%+v", a.Status)
		Expect(a.Status.OutputTail).To(ContainSubstring("the child ended with 137"))
	})
})
