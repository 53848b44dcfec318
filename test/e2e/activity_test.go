package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	managerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Activity", func() {
	It("runs a command where, as whom and with what the spec says", func(ctx SpecContext) {
		host := anyKubernetesNode(ctx)
		a := builders.Activity("greeting", `echo "$GREETING|$(id -u):$(id -g)|$(pwd)|$PRICE"; touch /tmp/file && ! touch /file`).
			With(func(s *egov1.ActivitySpec) {
				s.Host, s.ExecUser, s.ExecCwd = host, "1000:2000", "/tmp"
				s.Envs = []string{"GREETING=hello=world", "PRICE=$(GREETING) $$"}
			}).Build()
		create(ctx, a)
		eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(a.Status.ExitCode).To(HaveValue(BeZero()))
		Expect(a.Status.NodeName).To(Equal(host))
		Expect(a.Status.OutputTail).To(ContainSubstring("hello=world|1000:2000|/tmp|$(GREETING) $$\n"))
		Expect(a.Status.Attempts).To(HaveLen(1))
		Expect(condition(a, commonv1.ConditionHostResolved).Status).To(Equal(metav1.ConditionTrue))
		eventuallyLetGo(ctx, a)
	})

	It("passes args that no shell reads, and keeps no output when the spec says so", func(ctx SpecContext) {
		a := builders.Activity("args", "printf").With(func(s *egov1.ActivitySpec) { s.Args = []string{"%s|", "a  b", "$HOME", "*"} }).Build()
		b := builders.Activity("secret",
			"echo secret").With(func(s *egov1.ActivitySpec) { s.Output = &egov1.Output{TailBytes: ptr.To[int32](0)} }).Build()
		create(ctx, a)
		create(ctx, b)
		eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
		eventually(ctx, b, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(a.Status.OutputTail).To(Equal("a  b|$HOME|*|"))
		Expect(b.Status.OutputTail).To(BeEmpty())
	})

	It("ends as Failed, TimedOut and Cancelled, each for its reason", func(ctx SpecContext) {
		grace := func(s *egov1.ActivitySpec) { s.TerminationGracePeriodSeconds = ptr.To[int64](2) }
		failing := builders.Activity("failing", "echo $HOSTNAME; exit 3").Retries(2).Build()
		slow := builders.Activity("slow", "sleep 60").Retries(2).With(grace).
			With(func(s *egov1.ActivitySpec) { s.Timeout = &metav1.Duration{Duration: 2 * time.Second} }).Build()
		stopped := builders.Activity("stopped", "trap 'exit 7' TERM; echo listening; sleep 60 & wait").Retries(2).With(grace).Build()
		for _, a := range []*egov1.Activity{failing, slow, stopped} {
			create(ctx, a)
		}
		Eventually(prosta).WithArguments(ctx, stopped).Should(Equal(egov1.Running))
		Eventually(kubectl).WithArguments(ctx, "logs", podsOf(ctx, "activity", "stopped")[0].Name).Should(ContainSubstring("listening"))
		edit(ctx, stopped, func(a *egov1.Activity) { a.Spec.Cancel = true })

		for _, a := range []*egov1.Activity{failing, slow, stopped} {
			eventually(ctx, a, commonv1.ConditionFailed, metav1.ConditionTrue)
			eventuallyLetGo(ctx, a)
		}
		Expect(failing.Status.Prosta).To(Equal(egov1.Failed))
		Expect(failing.Status.ExitCode).To(HaveValue(BeEquivalentTo(3)))
		Expect(failing.Status.Attempts).To(HaveLen(3))
		Expect(failing.Status.OutputTail).To(Equal(failing.Status.Attempts[2].PodName + "\n"))
		Expect(slow.Status.Prosta).To(Equal(egov1.TimedOut))
		Expect(slow.Status.Attempts).To(HaveLen(1))
		Expect(stopped.Status.Prosta).To(Equal(egov1.Cancelled))
		Expect(stopped.Status.ExitCode).To(HaveValue(BeEquivalentTo(7)))
		Expect(stopped.Status.Attempts).To(HaveLen(1))
	})

	It("says what keeps it from running, and goes away all the same, with its namespace too", func(ctx SpecContext) {
		nowhere := builders.Activity("nowhere", "true").With(func(s *egov1.ActivitySpec) { s.Host = "no-such-node" }).Build()
		unpullable := builders.Activity("unpullable", "true").With(func(s *egov1.ActivitySpec) { s.Image = "localhost:1/no/such:1" }).Build()
		runs := builders.Activity("runs",
			"sleep 600").With(func(s *egov1.ActivitySpec) { s.TerminationGracePeriodSeconds = ptr.To[int64](1) }).Build()
		for _, a := range []*egov1.Activity{nowhere, unpullable, runs} {
			create(ctx, a)
		}
		Expect(eventually(ctx, nowhere, commonv1.ConditionHostResolved, metav1.ConditionFalse).Message).To(ContainSubstring("no-such-node"))
		Expect(nowhere.Status.Prosta).To(Equal(egov1.Pending))
		Expect(eventually(ctx, unpullable, commonv1.ConditionDegraded,
			metav1.ConditionTrue).Message).To(ContainSubstring("localhost:1/no/such:1"))
		Eventually(prosta).WithArguments(ctx, runs).Should(Equal(egov1.Running))

		Expect(k8s.Delete(ctx, unpullable)).To(Succeed())
		eventuallyGone(ctx, unpullable)
		Eventually(func() []corev1.Pod { return podsOf(ctx, "activity", "unpullable") }).WithContext(ctx).Should(BeEmpty())
		here := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(k8s.Delete(ctx, here)).To(Succeed())
		eventuallyGone(ctx, here)
	})

	It("removes itself when its time has come", func(ctx SpecContext) {
		a := builders.Activity("short", "true").With(func(s *egov1.ActivitySpec) { s.TTLSecondsAfterFinished = ptr.To[int32](1) }).Build()
		create(ctx, a)
		eventuallyGone(ctx, a)
		Eventually(func() []corev1.Pod { return podsOf(ctx, "activity", "short") }).WithContext(ctx).Should(BeEmpty())
	})

	Describe("at most once", Label(faults, away), func() {
		DescribeTable("runs each attempt in one pod though every write of the operator", func(ctx SpecContext, strikes func() fault.Decide) {
			started, decide := startedPods(ctx), strikes()
			a := builders.Activity("struck", "echo ran; exit 3").Retries(1).Build()
			create(ctx, a)
			o, killed := operate(ctx, decide), 0
			Eventually(func() bool {
				if o.Crashed() {
					o.stop()
					o, killed = operate(ctx, decide), killed+1
				}
				refresh(ctx, a)
				return a.Status.Prosta.Finished() && !anyHeld(ctx, a)
			}).WithContext(ctx).Should(BeTrue(), "%+v", a.Status)
			AddReportEntry(fmt.Sprintf("%d processes were killed", killed))

			Expect(a.Status.Prosta).To(Equal(egov1.Failed), "%+v", a.Status)
			Expect(a.Status.OutputTail).To(Equal("ran\n"))
			Expect(a.Status.Attempts).To(HaveLen(2))
			journal := []types.UID{a.Status.Attempts[0].PodUID, a.Status.Attempts[1].PodUID}
			Expect(started()).To(ConsistOf(journal))
		},
			Entry("is its last: it dies once the server has carried it out", func() fault.Decide {
				return func(c fault.Call) fault.Fault { return faultOnWrite(c, fault.CrashAfter) }
			}),
			Entry("is its last at first: it dies before the server hears of it", func() fault.Decide { return everyOther(fault.CrashBefore) }),
			Entry("is carried out but not answered at first", func() fault.Decide { return everyOther(fault.TimeoutAfter) }),
		)
	})
})

// faultOnWrite leaves reads and events alone: they change nothing.
func faultOnWrite(c fault.Call, f fault.Fault) fault.Fault {
	if !c.Writes() || c.Event() {
		return fault.None
	}
	return f
}

// everyOther strikes a call, lets it pass when it is made again, and so on,
// whichever process makes it.
func everyOther(f fault.Fault) fault.Decide {
	made := map[string]int{}
	return func(c fault.Call) fault.Fault {
		if made[c.ID()]++; made[c.ID()]%2 == 0 {
			return fault.None
		}
		return faultOnWrite(c, f)
	}
}

// process is one process of the operator, bound to the spec's namespace.
type process struct {
	*fault.Transport
	stop func()
}

func operate(ctx context.Context, decide fault.Decide) process {
	GinkgoHelper()
	p := process{Transport: fault.NewTransport(decide)}
	wired := rest.CopyConfig(config)
	wired.Wrap(p.Wrap)
	mgr, err := ctrl.NewManager(wired, ctrl.Options{
		Scheme:     k8s.Scheme(),
		Cache:      controllers.CacheOptions([]string{namespace}),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: managerconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	living, kill := context.WithCancel(ctx)
	Expect(controllers.SetupAll(living, mgr, controllers.Options{Identity: string(uuid.NewUUID()), Images: controllers.ImagesFromEnv(),
		Namespaces: []string{namespace}})).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(living) }()
	p.stop = sync.OnceFunc(func() {
		kill()
		if err := <-ended; err != nil { // its wire may have been cut under it
			GinkgoWriter.Println("the operator ended:", err)
		}
	})
	DeferCleanup(p.stop)
	return p
}

// startedPods watches the spec's namespace, and gives the UIDs of all pods that
// ever lost their gate.
func startedPods(ctx context.Context) func() []types.UID {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: k8s.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	events, err := watcher.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(events.Stop)
	var mu sync.Mutex
	seen := []types.UID{}
	go func() {
		for event := range events.ResultChan() {
			pod, isPod := event.Object.(*corev1.Pod)
			mu.Lock()
			if isPod && len(pod.Spec.SchedulingGates) == 0 && !slices.Contains(seen, pod.UID) {
				seen = append(seen, pod.UID)
			}
			mu.Unlock()
		}
	}()
	return func() []types.UID { mu.Lock(); defer mu.Unlock(); return slices.Clone(seen) }
}

func prosta(ctx context.Context, a *egov1.Activity) egov1.ProcessState {
	refresh(ctx, a)
	return a.Status.Prosta
}

func anyHeld(ctx context.Context, a *egov1.Activity) bool {
	return slices.ContainsFunc(podsOf(ctx, "activity", a.Name), func(p corev1.Pod) bool { return len(p.Finalizers) > 0 })
}

// eventuallyLetGo waits until nothing keeps the pods of a finished Activity.
func eventuallyLetGo(ctx context.Context, a *egov1.Activity) {
	GinkgoHelper()
	Eventually(anyHeld).WithArguments(ctx, a).WithContext(ctx).Should(BeFalse())
}

func anyKubernetesNode(ctx context.Context) string {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(k8s.List(ctx, &nodes)).To(Succeed())
	Expect(nodes.Items).NotTo(BeEmpty())
	return nodes.Items[0].Name
}
