package integration

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/samples"
)

// fullActivity sets every optional field but cancel.
func fullActivity() *egov1.Activity {
	return builders.Activity("full", "echo").Retries(10).With(func(s *egov1.ActivitySpec) {
		s.Args, s.Image, s.Host = []string{"-n", "$HOME"}, "example.org/tools:1", "node-1.example.org"
		s.ExecUser, s.ExecCwd, s.Envs = "1000:2000", "/srv", []string{"A=b=c", "_x.y-z="}
		s.Timeout, s.Output = &metav1.Duration{Duration: 90 * time.Minute}, &egov1.Output{TailBytes: ptr.To[int32](0)}
		s.StartDeadline = &metav1.Duration{Duration: time.Hour}
		s.EnvFrom = []corev1.EnvFromSource{{Prefix: "P_",
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}}
		s.Workspace = egov1.Workspace{Size: ptr.To(resource.MustParse("1Gi")), Path: "/srv"}
		s.RetryPolicy = egov1.RetryPolicy{Causes: []egov1.RetryCause{egov1.RetryFailed, egov1.RetryTimedOut},
			Backoff:   &metav1.Duration{Duration: time.Minute},
			ExitCodes: &egov1.ExitCodes{FailOn: []int32{64}}}
		s.TTLSecondsAfterFinished = ptr.To[int32](60)
		s.Security, s.PodOptions = commonv1.SecurityRestricted, builders.FullPodOptions()
	}).Build()
}

// activity is one that says a command and what change says.
func activity(change func(*egov1.ActivitySpec)) client.Object {
	return builders.Activity("a", "true").With(change).Build()
}

func execUser(user string, level commonv1.SecurityProfile) client.Object {
	return activity(func(s *egov1.ActivitySpec) { s.ExecUser, s.Security = user, level })
}

func envs(list ...string) client.Object {
	return activity(func(s *egov1.ActivitySpec) { s.Envs = list })
}

func lasting(timeout time.Duration) client.Object {
	return activity(func(s *egov1.ActivitySpec) { s.Timeout = &metav1.Duration{Duration: timeout} })
}

// retrying is an Activity with a retry and that policy.
func retrying(policy egov1.RetryPolicy) client.Object {
	return builders.Activity("a", "true").Retries(1).With(func(s *egov1.ActivitySpec) { s.RetryPolicy = policy }).Build()
}

func starting(within time.Duration) client.Object {
	return activity(func(s *egov1.ActivitySpec) { s.StartDeadline = &metav1.Duration{Duration: within} })
}

// codes are that many exit codes, from 1.
func codes(many int32) []int32 {
	list := make([]int32, many)
	for i := range list {
		list[i] = int32(i) + 1
	}
	return list
}

func in(w egov1.Workspace) client.Object {
	return activity(func(s *egov1.ActivitySpec) { s.Workspace = w })
}

// envFrom is an Activity with that many sources.
func envFrom(many int, source corev1.EnvFromSource) client.Object {
	return activity(func(s *egov1.ActivitySpec) { s.EnvFrom = slices.Repeat([]corev1.EnvFromSource{source}, many) })
}

var (
	fromMap    = corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{}}
	fromSecret = corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{}}
)

// numbered gives NAME=value of that many different names, each of an item's maximal length.
func numbered(many int) []string {
	list := make([]string, many)
	for i := range list {
		name := fmt.Sprintf("N%d=", i)
		list[i] = name + strings.Repeat("v", 1024-len(name))
	}
	return list
}

var _ = Describe("Activity", func() {
	DescribeTable("is refused", func(obj client.Object, field string) { reject(obj, field) },
		Entry("no command", builders.Activity("a", "").Build(), "spec.command"),
		Entry("a blank command", builders.Activity("a", " \n\t").Build(), "spec.command"),
		Entry("a command with a zero byte", builders.Activity("a", "echo\x00").Build(), "spec.command"),
		Entry("a command too long", builders.Activity("a", strings.Repeat("x", 32769)).Build(), "spec.command"),
		Entry("an args item with a zero byte", activity(func(s *egov1.ActivitySpec) { s.Args = []string{"\x00"} }), "spec.args[0]"),
		Entry("too many args", activity(func(s *egov1.ActivitySpec) { s.Args = repeated("a", 65) }), "spec.args"),
		Entry("an args item too long", activity(func(s *egov1.ActivitySpec) { s.Args = []string{strings.Repeat("a", 4097)} }), "spec.args[0]"),
		Entry("an AppArmor profile", activity(func(s *egov1.ActivitySpec) {
			s.PodAnnotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/activity": "unconfined"}
		}), "podAnnotations"),
		Entry("image with a space", activity(func(s *egov1.ActivitySpec) { s.Image = "busybox latest" }), "spec.image"),
		Entry("image too long", activity(func(s *egov1.ActivitySpec) { s.Image = strings.Repeat("a", 513) }), "spec.image"),
		Entry("host in capitals", activity(func(s *egov1.ActivitySpec) { s.Host = "Node" }), "spec.host"),
		Entry("host too long", activity(func(s *egov1.ActivitySpec) { s.Host = strings.Repeat("a", 254) }), "spec.host"),
		Entry("root under Restricted", execUser("root", commonv1.SecurityRestricted), "execuser"),
		Entry("root by default", execUser("root", ""), "execuser"),
		Entry("uid 0 under Restricted", execUser("0", ""), "execuser"),
		Entry("uid 0 with a gid under Restricted", execUser("0:1000", ""), "execuser"),
		Entry("a uid with a leading 0", execUser("007", ""), "spec.execuser"),
		Entry("a negative uid", execUser("-1", ""), "spec.execuser"),
		Entry("a uid beyond 31 bits", execUser("2147483648", ""), "execuser"),
		Entry("a gid beyond 31 bits", execUser("1:2147483648", ""), "execuser"),
		Entry("no gid after the colon", execUser("1:", ""), "spec.execuser"),
		Entry("a name in capitals", execUser("Deploy", ""), "spec.execuser"),
		Entry("a name that starts with a number", execUser("1st", ""), "spec.execuser"),
		Entry("a name with a gid", execUser("deploy:1000", ""), "spec.execuser"),
		Entry("a name too long", execUser(strings.Repeat("a", 33), ""), "spec.execuser"),
		Entry("envFrom of nothing", envFrom(1, corev1.EnvFromSource{}), "spec.envFrom[0]"),
		Entry("envFrom of both", envFrom(1, corev1.EnvFromSource{ConfigMapRef: fromMap.ConfigMapRef, SecretRef: fromSecret.SecretRef}),
			"spec.envFrom[0]"),
		Entry("too many envFrom", envFrom(17, fromMap), "spec.envFrom"),
		Entry("a workspace of both kinds", in(egov1.Workspace{ClaimName: "c", Size: ptr.To(resource.MustParse("1Gi"))}), "workspace"),
		Entry("a workspace that is only a path", in(egov1.Workspace{Path: "/srv"}), "workspace.path"),
		Entry("a workspace of no size", in(egov1.Workspace{Size: ptr.To(resource.MustParse("0"))}), "workspace.size"),
		Entry("a claim's name in capitals", in(egov1.Workspace{ClaimName: "Claim"}), "spec.workspace.claimName"),
		Entry("a claim's name too long", in(egov1.Workspace{ClaimName: strings.Repeat("a", 254)}), "spec.workspace.claimName"),
		Entry("a relative workspace", in(egov1.Workspace{ClaimName: "c", Path: "srv"}), "spec.workspace.path"),
		Entry("a workspace at /", in(egov1.Workspace{ClaimName: "c", Path: "/"}), "spec.workspace.path"),
		Entry("a workspace over the guard", in(egov1.Workspace{ClaimName: "c", Path: "/run/mainstay"}), "workspace.path"),
		Entry("a workspace over the guard, by a link", in(egov1.Workspace{ClaimName: "c", Path: "/var/run"}), "workspace.path"),
		Entry("a workspace over the guard, roundabout", in(egov1.Workspace{ClaimName: "c", Path: "/srv/../run"}), "workspace.path"),
		Entry("a workspace with a colon", in(egov1.Workspace{ClaimName: "c", Path: "/a:b"}), "spec.workspace.path"),
		Entry("a workspace's path too long", in(egov1.Workspace{ClaimName: "c", Path: "/" + strings.Repeat("a", 256)}), "spec.workspace.path"),
		Entry("a relative execcwd", activity(func(s *egov1.ActivitySpec) { s.ExecCwd = "srv" }), "spec.execcwd"),
		Entry("execcwd too long", activity(func(s *egov1.ActivitySpec) { s.ExecCwd = "/" + strings.Repeat("a", 1024) }), "spec.execcwd"),
		Entry("NOVALUE", envs("NOVALUE"), "spec.envs[0]"),
		Entry("no name", envs("=value"), "spec.envs[0]"),
		Entry("a name with a space", envs("A B=c"), "spec.envs[0]"),
		Entry("a name that starts with a digit", envs("1A=b"), "spec.envs[0]"),
		Entry("a name with a dot, which /bin/sh drops", envs("A=1", "spring.profiles.active=prod"),
			"spring.profiles.active is a name of more than"),
		Entry("a name with a dash, which /bin/sh drops", envs("my-key=2"), "spec.envs"),
		Entry("a duplicate name", envs("A=1", "B=2", "A=3"), "envs"),
		Entry("too many envs", envs(numbered(65)...), "spec.envs"),
		Entry("an item of envs too long", envs("A="+strings.Repeat("v", 1023)), "spec.envs[0]"),
		Entry("timeout of 0", lasting(0), "timeout"),
		Entry("timeout of half a second", lasting(500*time.Millisecond), "spec.timeout"),
		Entry("timeout above a year", lasting(8760*time.Hour+time.Second), "timeout"),
		Entry("a negative timeout", lasting(-time.Second), "spec.timeout"),
		Entry("retries below 0", builders.Activity("a", "true").Retries(-1).Build(), "spec.retries"),
		Entry("retries above 10", builders.Activity("a", "true").Retries(11).Build(), "spec.retries"),
		Entry("startDeadline of 0", starting(0), "startDeadline"),
		Entry("startDeadline above a year", starting(8760*time.Hour+time.Second), "startDeadline"),
		Entry("a negative startDeadline", starting(-time.Second), "spec.startDeadline"),
		Entry("backoff above 10 minutes", retrying(egov1.RetryPolicy{Backoff: &metav1.Duration{Duration: 10*time.Minute + time.Second}}),
			"retryPolicy.backoff"),
		Entry("a negative backoff", retrying(egov1.RetryPolicy{Backoff: &metav1.Duration{Duration: -time.Second}}), "spec.retryPolicy.backoff"),
		Entry("a retry when lost", retrying(egov1.RetryPolicy{Causes: []egov1.RetryCause{egov1.RetryCause(egov1.Lost)}}),
			"spec.retryPolicy.causes[0]"),
		Entry("a retry on the same twice", retrying(egov1.RetryPolicy{Causes: []egov1.RetryCause{egov1.RetryFailed, egov1.RetryFailed}}),
			"spec.retryPolicy.causes[1]"),
		Entry("exitCodes of what is not Failed", retrying(egov1.RetryPolicy{Causes: []egov1.RetryCause{egov1.RetryTimedOut},
			ExitCodes: &egov1.ExitCodes{FailOn: []int32{1}}}), "retryPolicy.exitCodes"),
		Entry("exitCodes both ways", retrying(egov1.RetryPolicy{ExitCodes: &egov1.ExitCodes{RetryOn: []int32{1}, FailOn: []int32{2}}}),
			"retryPolicy.exitCodes"),
		Entry("exitCodes of neither way", retrying(egov1.RetryPolicy{ExitCodes: &egov1.ExitCodes{}}), "retryPolicy.exitCodes"),
		Entry("exit code 0", retrying(egov1.RetryPolicy{ExitCodes: &egov1.ExitCodes{RetryOn: []int32{0}}}),
			"spec.retryPolicy.exitCodes.retryOn[0]"),
		Entry("exit code 256", retrying(egov1.RetryPolicy{ExitCodes: &egov1.ExitCodes{FailOn: []int32{256}}}),
			"spec.retryPolicy.exitCodes.failOn[0]"),
		Entry("an exit code twice", retrying(egov1.RetryPolicy{ExitCodes: &egov1.ExitCodes{FailOn: []int32{1, 1}}}),
			"spec.retryPolicy.exitCodes.failOn[1]"),
		Entry("too many exit codes", retrying(egov1.RetryPolicy{ExitCodes: &egov1.ExitCodes{FailOn: codes(65)}}),
			"spec.retryPolicy.exitCodes.failOn"),
		Entry("a negative ttl", activity(func(s *egov1.ActivitySpec) { s.TTLSecondsAfterFinished = ptr.To[int32](-1) }),
			"spec.ttlSecondsAfterFinished"),
		Entry("a negative tail", activity(func(s *egov1.ActivitySpec) { s.Output = &egov1.Output{TailBytes: ptr.To[int32](-1)} }),
			"spec.output.tailBytes"),
		Entry("a tail above 32768", activity(func(s *egov1.ActivitySpec) { s.Output = &egov1.Output{TailBytes: ptr.To[int32](32769)} }),
			"spec.output.tailBytes"),
		Entry("another security", activity(func(s *egov1.ActivitySpec) { s.Security = "Privileged" }), "spec.security"),
		Entry("a name too long for its pods", builders.Activity(strings.Repeat("a", 54), "true").Build(), "metadata.name"),
	)

	DescribeTable("is accepted at the edge", func(obj client.Object) { accept(obj) },
		Entry("a command alone", builders.Activity("a", "x").Build()),
		Entry("a command of 32768, over several lines", builders.Activity("a", "echo\n"+strings.Repeat("x", 32763)).Build()),
		Entry("64 args, empty ones too", activity(func(s *egov1.ActivitySpec) { s.Args = repeated("", 64) })),
		Entry("an args item of 4096", activity(func(s *egov1.ActivitySpec) { s.Args = []string{strings.Repeat("a", 4096)} })),
		Entry("host of 253", activity(func(s *egov1.ActivitySpec) { s.Host = strings.Repeat("a", 253) })),
		Entry("root under Baseline", execUser("root", commonv1.SecurityBaseline)),
		Entry("uid 0 under Baseline", execUser("0:0", commonv1.SecurityBaseline)),
		Entry("nobody", execUser("nobody", "")),
		Entry("uid 1", execUser("1", "")),
		Entry("gid 0", execUser("1:0", "")),
		Entry("the highest uid and gid", execUser("2147483647:2147483647", "")),
		Entry("a name of 32", execUser("_"+strings.Repeat("a", 31), "")),
		Entry("a user's name", execUser("www-data", commonv1.SecurityRestricted)),
		Entry("16 envFrom", envFrom(16, fromSecret)),
		Entry("a claim's workspace of 256", in(egov1.Workspace{ClaimName: "my.claim-1", Path: "/" + strings.Repeat("a", 255)})),
		Entry("a workspace at /tmp", in(egov1.Workspace{Size: ptr.To(resource.MustParse("1")), Path: "/tmp"})),
		Entry("a workspace at /runner", in(egov1.Workspace{ClaimName: "c", Path: "/runner/.hidden"})),
		Entry("execcwd /", activity(func(s *egov1.ActivitySpec) { s.ExecCwd = "/" })),
		Entry("execcwd of 1024", activity(func(s *egov1.ActivitySpec) { s.ExecCwd = "/" + strings.Repeat("a", 1023) })),
		Entry("an empty value, an = and a newline in others", envs("A=", "B=a=b", "C=a\nb", "AB=1")),
		Entry("a name with a dot and a dash, with args",
			activity(func(s *egov1.ActivitySpec) { s.Args, s.Envs = []string{"-0"}, []string{"spring.profiles-active=prod"} })),
		Entry("64 envs of 1024", envs(numbered(64)...)),
		Entry("timeout 1s", lasting(time.Second)),
		Entry("timeout of a year", lasting(8760*time.Hour)),
		Entry("10 retries", builders.Activity("a", "true").Retries(10).Build()),
		Entry("startDeadline 1s", starting(time.Second)),
		Entry("startDeadline of a year", starting(8760*time.Hour)),
		Entry("an empty retryPolicy", retrying(egov1.RetryPolicy{})),
		Entry("backoff 0", retrying(egov1.RetryPolicy{Backoff: &metav1.Duration{}})),
		Entry("backoff of 10 minutes", retrying(egov1.RetryPolicy{Backoff: &metav1.Duration{Duration: 10 * time.Minute}})),
		Entry("64 exit codes, 255 among them", retrying(egov1.RetryPolicy{ExitCodes: &egov1.ExitCodes{RetryOn: append(codes(63), 255)}})),
		Entry("suspended from the start", activity(func(s *egov1.ActivitySpec) { s.Suspend = true })),
		Entry("ttl 0", activity(func(s *egov1.ActivitySpec) { s.TTLSecondsAfterFinished = ptr.To[int32](0) })),
		Entry("a tail of 32768", activity(func(s *egov1.ActivitySpec) { s.Output = &egov1.Output{TailBytes: ptr.To[int32](32768)} })),
		Entry("cancelled from the start", activity(func(s *egov1.ActivitySpec) { s.Cancel = true })),
		Entry("a name of 53", builders.Activity(strings.Repeat("a", 53), "true").Build()),
		Entry("every field", fullActivity()),
	)

	DescribeTable("cannot be changed", func(field string, change func(*egov1.ActivitySpec)) {
		rejectUpdate(fullActivity(), func(o client.Object) { change(&o.(*egov1.Activity).Spec) }, field)
	},
		Entry("command", "command", func(s *egov1.ActivitySpec) { s.Command = "false" }),
		Entry("args", "args", func(s *egov1.ActivitySpec) { s.Args = nil }),
		Entry("image", "image", func(s *egov1.ActivitySpec) { s.Image = "" }),
		Entry("host", "host", func(s *egov1.ActivitySpec) { s.Host = "node-2" }),
		Entry("execuser", "execuser", func(s *egov1.ActivitySpec) { s.ExecUser = "" }),
		Entry("execcwd", "execcwd", func(s *egov1.ActivitySpec) { s.ExecCwd = "/" }),
		Entry("envs", "envs", func(s *egov1.ActivitySpec) { s.Envs = append(s.Envs, "B=1") }),
		Entry("timeout", "timeout", func(s *egov1.ActivitySpec) { s.Timeout.Duration = time.Hour }),
		Entry("retries", "retries", func(s *egov1.ActivitySpec) { s.Retries = 9 }),
		Entry("envFrom", "envFrom", func(s *egov1.ActivitySpec) { s.EnvFrom = nil }),
		Entry("envFrom's sources", "envFrom", func(s *egov1.ActivitySpec) { s.EnvFrom[0].SecretRef.Name = "t" }),
		Entry("workspace", "workspace", func(s *egov1.ActivitySpec) { s.Workspace = egov1.Workspace{} }),
		Entry("workspace's path", "workspace", func(s *egov1.ActivitySpec) { s.Workspace.Path = "/srv2" }),
		Entry("retryPolicy", "retryPolicy", func(s *egov1.ActivitySpec) { s.RetryPolicy.ExitCodes.FailOn = []int32{65} }),
		Entry("that there is a retryPolicy", "retryPolicy", func(s *egov1.ActivitySpec) { s.RetryPolicy = egov1.RetryPolicy{} }),
		Entry("output", "output", func(s *egov1.ActivitySpec) { s.Output = nil }),
		Entry("security", "security", func(s *egov1.ActivitySpec) { s.Security = commonv1.SecurityBaseline }),
		Entry("imagePullPolicy", "imagePullPolicy", func(s *egov1.ActivitySpec) { s.ImagePullPolicy = "" }),
		Entry("imagePullSecrets", "imagePullSecrets", func(s *egov1.ActivitySpec) { s.ImagePullSecrets = nil }),
		Entry("podLabels", "podLabels", func(s *egov1.ActivitySpec) { s.PodLabels["team"] = "b" }),
		Entry("podAnnotations", "podAnnotations", func(s *egov1.ActivitySpec) { s.PodAnnotations = nil }),
		Entry("terminationGracePeriodSeconds", "terminationGracePeriodSeconds",
			func(s *egov1.ActivitySpec) { s.TerminationGracePeriodSeconds = nil }),
		Entry("nodeSelector", "nodeSelector", func(s *egov1.ActivitySpec) { s.NodeSelector = nil }),
		Entry("tolerations", "tolerations", func(s *egov1.ActivitySpec) { s.Tolerations = nil }),
		Entry("affinity", "affinity", func(s *egov1.ActivitySpec) { s.Affinity = nil }),
		Entry("topologySpreadConstraints", "topologySpreadConstraints", func(s *egov1.ActivitySpec) { s.TopologySpreadConstraints = nil }),
		Entry("priorityClassName", "priorityClassName", func(s *egov1.ActivitySpec) { s.PriorityClassName = "high" }),
	)

	It("may be suspended and resumed, cancelled, not taken back, and given another deadline and ttl", func() {
		acceptUpdate(fullActivity(), func(o client.Object) { o.(*egov1.Activity).Spec.StartDeadline = nil })
		acceptUpdate(fullActivity(), func(o client.Object) { o.(*egov1.Activity).Spec.Suspend = true })
		suspended := fullActivity()
		suspended.Spec.Suspend = true
		acceptUpdate(suspended, func(o client.Object) { o.(*egov1.Activity).Spec.Suspend = false })
		acceptUpdate(fullActivity(), func(o client.Object) { o.(*egov1.Activity).Spec.Cancel = true })
		acceptUpdate(fullActivity(), func(o client.Object) { o.(*egov1.Activity).Spec.TTLSecondsAfterFinished = nil })
		cancelled := fullActivity()
		cancelled.Spec.Cancel = true
		rejectUpdate(cancelled, func(o client.Object) { o.(*egov1.Activity).Spec.Cancel = false }, "cancel")
	})

	It("makes no pod while it is suspended, and one when it is resumed", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		o := operate(namespace)
		a := builders.Activity("a", "true").In(namespace).With(func(s *egov1.ActivitySpec) { s.Suspend = true }).Build()
		Expect(admin.Create(ctx, a)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionSuspended, metav1.ConditionTrue).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		Expect(a.Status.Prosta).To(Equal(egov1.Suspended))
		waitForRest(o)
		Expect(o.Calls(ofPods)).To(BeEmpty())

		update(ctx, a, func(o client.Object) { o.(*egov1.Activity).Spec.Suspend = false })
		Eventually(o.Calls).WithArguments(ofPods).Should(ContainElement(HaveField("Verb", "create")))
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionSuspended, metav1.ConditionFalse,
			commonv1.ReasonNotSuspended).Should(Succeed())
	})

	It("fails when it has not started in time, suspended or not, and never makes a pod", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		o := operate(namespace)
		a := builders.Activity("a", "true").In(namespace).Retries(1).With(func(s *egov1.ActivitySpec) {
			s.Suspend, s.StartDeadline = true, &metav1.Duration{Duration: 2 * time.Second}
		}).Build()
		Expect(admin.Create(ctx, a)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionFailed, metav1.ConditionTrue,
			commonv1.ReasonStartDeadlineExceeded).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		Expect(a.Status.Attempts).To(HaveLen(1))
		update(ctx, a, func(o client.Object) { o.(*egov1.Activity).Spec.Suspend = false })
		waitForRest(o)
		Expect(o.Calls(func(c fault.Call) bool { return ofPods(c) && c.Writes() })).To(BeEmpty())
	})

	It("defaults what is not said", func() {
		obj := created(builders.Activity("a", "true").Build()).(*egov1.Activity)
		Expect(obj.Spec.Security).To(Equal(commonv1.SecurityRestricted))
		Expect(obj.Spec.Retries).To(BeZero())
		Expect(obj.Spec.Output).To(BeNil())
		Expect(obj.Spec.RetryPolicy).To(BeZero())
	})

	It("says of an item of envs that has no value just that", func() {
		Expect(dryRun(envs("A"))).To(MatchError(And(ContainSubstring("spec.envs[0]"), Not(ContainSubstring("may occur once")))))
	})

	DescribeTable("takes nothing later that it was made without", func(field string, change func(*egov1.ActivitySpec)) {
		rejectUpdate(builders.Activity("a", "true").Build(), func(o client.Object) { change(&o.(*egov1.Activity).Spec) }, field)
	},
		Entry("timeout", "timeout", func(s *egov1.ActivitySpec) { s.Timeout = &metav1.Duration{Duration: time.Second} }),
		Entry("retryPolicy", "retryPolicy", func(s *egov1.ActivitySpec) { s.RetryPolicy.Causes = []egov1.RetryCause{egov1.RetryFailed} }),
		Entry("envFrom", "envFrom", func(s *egov1.ActivitySpec) { s.EnvFrom = []corev1.EnvFromSource{fromMap} }),
		Entry("workspace", "workspace", func(s *egov1.ActivitySpec) { s.Workspace.ClaimName = "c" }),
		Entry("execuser", "execuser", func(s *egov1.ActivitySpec) { s.ExecUser = "deploy" }),
	)

	It("waits for the ConfigMap that says who a named execuser is, names what is wrong with it, and heals", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		o := operate(namespace)
		a := builders.Activity("a", "true").In(namespace).With(func(s *egov1.ActivitySpec) { s.ExecUser = "deploy" }).Build()
		Expect(admin.Create(ctx, a)).To(Succeed())
		says := func(words string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				read, err := live(ctx, a)
				g.Expect(err).NotTo(HaveOccurred())
				c := conditionOf(read, commonv1.ConditionDegraded)
				g.Expect(c).NotTo(BeNil())
				g.Expect(c.Reason).To(Equal(commonv1.ReasonInvalidSpec))
				g.Expect(c.Message).To(And(HavePrefix("execuser: "), ContainSubstring("activity-users"), ContainSubstring(words)))
			}).Should(Succeed())
		}
		says("does not exist")
		users := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "activity-users"}}
		Expect(admin.Create(ctx, users)).To(Succeed())
		says("has no key")
		for value, words := range map[string]string{"someone": "must be a uid", "0": "Baseline"} {
			update(ctx, users, func(o client.Object) { o.(*corev1.ConfigMap).Data = map[string]string{"deploy": value} })
			says(words)
		}
		waitForRest(o)
		update(ctx, users, func(o client.Object) { o.(*corev1.ConfigMap).Data["deploy"] = "1000:2000" })
		Eventually(func(g Gomega) {
			var pods corev1.PodList
			g.Expect(admin.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(1))
			g.Expect(pods.Items[0].Spec.SecurityContext.RunAsUser).To(HaveValue(BeEquivalentTo(1000)))
			g.Expect(pods.Items[0].Spec.SecurityContext.RunAsGroup).To(HaveValue(BeEquivalentTo(2000)))
		}).Should(Succeed())
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionDegraded, metav1.ConditionFalse).Should(Succeed())
	})

	It("takes the labels of its pod back, and so hears of its end", func(ctx SpecContext) {
		a := builders.Activity("a", "true").In(newNamespace(ctx)).With(func(s *egov1.ActivitySpec) { s.Image = "example.org/a" + broken }).Build()
		Expect(admin.Create(ctx, a)).To(Succeed())
		o := operate(a.Namespace)
		Eventually(runningActivity.done).WithArguments(ctx, a).Should(Succeed())
		pod := func() *corev1.Pod {
			GinkgoHelper()
			var pods corev1.PodList
			Expect(admin.List(ctx, &pods, client.InNamespace(a.Namespace))).To(Succeed())
			Expect(pods.Items).To(HaveLen(1))
			return &pods.Items[0]
		}
		before := pod().Labels
		for _, patch := range []string{
			`{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`,
			`{"metadata":{"labels":{"app.kubernetes.io/instance":"another"}}}`,
		} {
			Expect(admin.Patch(ctx, pod(), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
			Eventually(func() map[string]string { return pod().Labels }).Should(Equal(before))
		}
		waitForRest(o)
		Eventually(func() error {
			ended := pod()
			ended.Status.Phase = corev1.PodSucceeded
			return admin.Status().Update(ctx, ended)
		}).Should(Succeed())
		Eventually(checkCondition).WithArguments(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue).Should(Succeed())
	})

	It("is made as its samples say", func() {
		all, err := samples.Read(filepath.Join(root, "config/samples"))
		Expect(err).NotTo(HaveOccurred())
		all = slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() != "Activity" })
		Expect(all).To(HaveLen(2))
		for _, sample := range all {
			accept(sample)
		}
	})

	It("makes pods that a namespace of its level admits, with every field", func(ctx SpecContext) {
		for _, level := range []commonv1.SecurityProfile{commonv1.SecurityRestricted, commonv1.SecurityBaseline} {
			namespace, err := makeNamespace(ctx, strings.ToLower(string(level)))
			Expect(err).NotTo(HaveOccurred())
			o := operate(namespace)
			a := fullActivity()
			a.Namespace, a.Spec.Security, a.Spec.PriorityClassName = namespace, level, "" // there is no such class
			Expect(admin.Create(ctx, a)).To(Succeed())
			Eventually(o.Calls).WithArguments(ofPods).Should(ContainElement(And(HaveField("Verb", "create"), HaveField("Code", 201))))
		}
	})
})

// ofPods are the calls that concern pods.
func ofPods(c fault.Call) bool { return c.Resource == "pods" && work(c) }
