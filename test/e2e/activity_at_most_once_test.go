package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// storm is how many commands run while the operator is killed how often; a tenth
// of what LONG=1 runs. The limit only ends a test that hangs: the operator is
// built within it, which takes minutes where others compile, too.
func storm() (runs, kills int, limit time.Duration) {
	if os.Getenv("LONG") != "" {
		return 500, 50, 40 * time.Minute
	}
	return 50, 5, 10 * time.Minute
}

var _ = Describe("Activity, once", Label(faults), func() {
	_, _, limit := storm()

	It("runs every command once for each attempt, and all, though the operator is killed again and again", Label(away), func(ctx SpecContext) {
		manager, w := built(ctx), newWitness(ctx)
		runs, kills, _ := storm()
		for i := range runs {
			a := w.watching(fmt.Sprintf("run-%03d", i), "true").Build()
			if i%5 == 0 { // whose first attempt fails
				a = w.watching(fmt.Sprintf("run-%03d", i), "case $HOSTNAME in *-1) exit 1;; esac").Retries(1).Build()
			}
			create(ctx, a)
		}
		killed := 0
		for ; killed < kills; killed++ {
			p := launch(ctx, manager)
			select { // at an arbitrary moment
			case <-time.After(time.Second + rand.N(4*time.Second)):
			case <-ctx.Done():
			}
			p.kill()
		}
		before := len(finished(ctx))
		p := launch(ctx, manager)
		Eventually(finished).WithArguments(ctx).WithContext(ctx).WithTimeout(limit).WithPolling(time.Second).Should(HaveLen(runs))

		var all egov1.ActivityList
		Expect(k8s.List(ctx, &all, client.InNamespace(namespace))).To(Succeed())
		journal := []string{}
		for i := range all.Items {
			a := &all.Items[i]
			Expect(a.Status.Prosta).To(Equal(egov1.Succeeded), "%s: %+v", a.Name, a.Status)
			for _, attempt := range a.Status.Attempts {
				journal = append(journal, attempt.PodName)
			}
			Eventually(anyHeld).WithArguments(ctx, a).WithContext(ctx).Should(BeFalse())
		}
		Expect(journal).To(HaveLen(runs + runs/5))
		Expect(w.says(ctx)).To(ConsistOf(journal))
		p.kill()
		AddReportEntry(fmt.Sprintf("%d commands, %d kills -9, %d finished before the last", runs, killed, before))
	}, longest, SpecTimeout(limit))

	It("runs nothing twice when a stopped leader wakes", Serial, func(ctx SpecContext) {
		w := newWitness(ctx)
		all := []*egov1.Activity{}
		for i := range 8 {
			a := w.watching(fmt.Sprintf("run-%d", i), "case $HOSTNAME in *-1) exit 1;; esac").Retries(1).Build()
			create(ctx, a)
			all = append(all, a)
		}
		Eventually(prosta).WithArguments(ctx, all[0]).ShouldNot(BeEmpty()) // in the middle of it
		name, err := cluster.Leader(ctx, k8s)
		Expect(err).NotTo(HaveOccurred())
		managers, err := cluster.Operators(ctx, k8s)
		Expect(err).NotTo(HaveOccurred())
		var leader types.UID
		for _, m := range managers {
			if m.Name == name {
				leader = m.UID
			}
		}
		wake, err := fault.Hang(leader, cluster.OperatorProgram)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(eventuallyOperatorLeads)
		journal := []string{}
		for _, a := range all {
			eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
			for _, attempt := range a.Status.Attempts {
				journal = append(journal, attempt.PodName)
			}
		}
		Expect(cluster.Leader(ctx, k8s)).NotTo(Equal(name), "another had to take over")
		Expect(wake()).To(Succeed())
		eventuallyOperatorLeads(ctx)
		Expect(journal).To(HaveLen(16))
		Expect(w.says(ctx)).To(ConsistOf(journal))
		for _, a := range all {
			before := a.ResourceVersion
			refresh(ctx, a)
			Expect(a.ResourceVersion).To(Equal(before))
		}
	})

	It("does not run the command when its container is started again", func(ctx SpecContext) {
		w := newWitness(ctx)
		a := w.watching("again", "sleep 600").With(func(s *egov1.ActivitySpec) { s.TerminationGracePeriodSeconds = ptr.To[int64](1) }).Build()
		create(ctx, a)
		Eventually(prosta).WithArguments(ctx, a).Should(Equal(egov1.Running))
		pod := podsOf(ctx, "activity", "again")[0]
		Expect(startAgain(ctx, pod)).To(MatchError(ContainSubstring("125")))
		Expect(w.says(ctx)).To(ConsistOf(pod.Name))
	})

	It("does not start a command without a shell again, either", func(ctx SpecContext) {
		a := builders.Activity("again", "pause").With(func(s *egov1.ActivitySpec) {
			s.Image, s.Envs, s.Args = sandboxImage, []string{"PATH=/nowhere:/"}, []string{"$HOME"}
		}).Build()
		create(ctx, a)
		Eventually(prosta).WithArguments(ctx, a).Should(Equal(egov1.Running))
		pod := podsOf(ctx, "activity", "again")[0]
		Expect(startAgain(ctx, pod)).To(MatchError(And(ContainSubstring("125"), ContainSubstring("started before"))))
		refresh(ctx, a)
		Expect(a.Status.Prosta).To(Equal(egov1.Running))

		By("asking it to end, which only reaches it when it is the container's first process")
		edit(ctx, a, func(a *egov1.Activity) { a.Spec.Cancel = true })
		eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(a.Status.ExitCode).To(HaveValue(BeZero()), "%+v", a.Status)
	})

	It("is one end, a natural one or a cancelled one, when both come at once", func(ctx SpecContext) {
		started := startedPods(ctx)
		all, cancels := []*egov1.Activity{}, sync.WaitGroup{}
		for i := range 8 {
			a := builders.Activity(fmt.Sprintf("race-%d", i), "trap 'exit 143' TERM; sleep 4 & wait $!").Retries(2).
				With(func(s *egov1.ActivitySpec) { s.TerminationGracePeriodSeconds = ptr.To[int64](1) }).Build()
			create(ctx, a)
			all = append(all, a)
		}
		for i, a := range all {
			cancels.Go(func() {
				defer GinkgoRecover()
				a := a.DeepCopy()
				Eventually(func() *metav1.Time { refresh(ctx, a); return a.Status.StartTime }).WithContext(ctx).ShouldNot(BeNil())
				end := a.Status.StartTime.Add(4500 * time.Millisecond) // the start is recorded in whole seconds
				<-time.After(time.Until(end.Add(time.Duration(i-4) * 200 * time.Millisecond)))
				edit(ctx, a, func(a *egov1.Activity) { a.Spec.Cancel = true })
			})
		}
		cancels.Wait()
		journal, ends := []types.UID{}, map[egov1.ProcessState]int{}
		for _, a := range all {
			Eventually(func() bool { return prosta(ctx, a).Finished() }).WithContext(ctx).Should(BeTrue())
			eventuallyLetGo(ctx, a)
			Expect(a.Status.Attempts).To(HaveLen(1))
			Expect(a.Status.Prosta).To(BeElementOf(egov1.Succeeded, egov1.Cancelled), "%+v", a.Status)
			if a.Status.Prosta == egov1.Succeeded {
				Expect(a.Status.ExitCode).To(HaveValue(BeZero()))
			}
			ends[a.Status.Prosta]++
			journal = append(journal, a.Status.Attempts[0].PodUID)
		}
		Expect(started()).To(ConsistOf(journal))
		AddReportEntry(fmt.Sprint(ends))
	})

	It("is another when it is deleted while it runs and made again", func(ctx SpecContext) {
		w := newWitness(ctx)
		first := w.watching("phoenix",
			"sleep 600").With(func(s *egov1.ActivitySpec) { s.TerminationGracePeriodSeconds = ptr.To[int64](2) }).Build()
		create(ctx, first)
		Eventually(prosta).WithArguments(ctx, first).Should(Equal(egov1.Running))
		Expect(k8s.Delete(ctx, first.DeepCopy())).To(Succeed())
		second := w.watching("phoenix", "true").Build()
		create(ctx, second)
		eventually(ctx, second, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(second.UID).NotTo(Equal(first.UID))
		old, fresh := first.Status.Attempts[0], second.Status.Attempts[0]
		Expect(old.PodName).NotTo(Equal(fresh.PodName))
		Expect(w.says(ctx)).To(HaveExactElements(old.PodName, fresh.PodName))
		Eventually(func() []string {
			left := []string{}
			for _, p := range podsOf(ctx, "activity", "phoenix") {
				left = append(left, p.Name)
			}
			return left
		}).WithContext(ctx).Should(HaveExactElements(fresh.PodName))
	})
})

// sandboxImage has a program that waits for its end, and nothing else.
const sandboxImage = "localhost/pause:1"

// startAgain starts what the pod's container was started with.
func startAgain(ctx context.Context, pod corev1.Pod) error {
	c := pod.Spec.Containers[0]
	words := append([]string{"--namespace", pod.Namespace, "exec", pod.Name, "--container", c.Name, "--"}, append(c.Command, c.Args...)...)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "$$", "$") // as the kubelet does
	}
	_, err := cluster.Kubectl(ctx, words...)
	return err
}

// finished are the names of the Activities that have come to their end.
func finished(ctx context.Context) []string {
	GinkgoHelper()
	var all egov1.ActivityList
	Expect(k8s.List(ctx, &all, client.InNamespace(namespace))).To(Succeed())
	names := []string{}
	for _, a := range all.Items {
		if a.Status.Prosta.Finished() {
			names = append(names, a.Name)
		}
	}
	return names
}

// built is the manager's program.
func built(ctx context.Context) string {
	GinkgoHelper()
	program := filepath.Join(GinkgoT().TempDir(), cluster.OperatorProgram)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	build.Dir = root
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return program
}

// killable is a process of the operator that can be killed as a kernel kills.
type killable struct{ kill func() }

// launch runs the program for the spec's namespace, with these variables.
func launch(ctx context.Context, program string, variables ...string) killable {
	GinkgoHelper()
	command := exec.CommandContext(ctx, program, "--health-probe-bind-address=0")
	command.Env = append(append(os.Environ(), "WATCH_NAMESPACE="+namespace), variables...)
	command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
	Expect(command.Start()).To(Succeed())
	p := killable{kill: func() {
		if err := command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			GinkgoWriter.Println("killing the operator:", err)
		}
		_ = command.Wait() // it was killed
	}}
	DeferCleanup(p.kill)
	return p
}
