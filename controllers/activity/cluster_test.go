package activity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	testingclient "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"
)

var (
	testTime = metav1.NewTime(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	key      = types.NamespacedName{Namespace: "ns", Name: "once"}

	scheme = func() *runtime.Scheme {
		s := runtime.NewScheme()
		utilruntime.Must(corev1.AddToScheme(s))
		utilruntime.Must(egov1.AddToScheme(s))
		return s
	}()
)

// runsForever is the exit code of a command that runs until it is stopped.
const runsForever = -1

// fakeCluster is an API server, a kubelet and a garbage collector; operators come and
// go. After every write it checks that the pods keep the package's promise (see checkInvariants).
type fakeCluster struct {
	t      *testing.T
	server client.WithWatch
	// exitCodes are those of the attempts; the last one is for all that follow, too.
	exitCodes []int32
	now       time.Time
	// neverStarts is true while the kubelet binds pods but starts none.
	neverStarts bool
	// sidecarState is the state of a container next to the command's, while the pod runs;
	// one that runs continues until the pod is deleted. Nil: there is none.
	sidecarState *corev1.ContainerState

	uids        int
	operators   int
	ungatedUIDs map[string]types.UID // pod name → the one UID that ever lost its gate
	ranPods     map[types.UID]bool   // pods whose container the kubelet has started
}

func newFakeCluster(t *testing.T, exits ...int32) *fakeCluster {
	t.Helper()
	w := &fakeCluster{t: t, exitCodes: exits, now: testTime.Time, ungatedUIDs: map[string]types.UID{}, ranPods: map[types.UID]bool{}}
	w.server = interceptor.NewClient(
		fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&egov1.Activity{}).
			// the default tracker also keeps managed fields, at a hundred times the cost
			WithObjectTracker(testingclient.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())).
			WithGlobalResourceVersionCounter().Build(),
		interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			w.uids++
			obj.SetUID(types.UID(fmt.Sprintf("%06d-uid", w.uids)))
			if p, ok := obj.(*corev1.Pod); ok && w.sidecarState != nil {
				p.Spec.Containers = append([]corev1.Container{sidecar}, p.Spec.Containers...)
			}
			return c.Create(ctx, obj, opts...)
		}})
	return w
}

// sidecar is what an admission webhook adds to pods.
var sidecar = corev1.Container{Name: "sidecar", Image: "sidecar"}

func (f *fakeCluster) must(err error) {
	f.t.Helper()
	if client.IgnoreNotFound(err) != nil {
		f.t.Fatal(err)
	}
}

// submit creates the Activity as a user would.
func (f *fakeCluster) submit(spec egov1.ActivitySpec) {
	f.t.Helper()
	spec.Command = "true"
	f.must(f.server.Create(context.Background(), &egov1.Activity{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1, CreationTimestamp: metav1.NewTime(f.now)},
		Spec:       spec,
	}))
}

// activity returns the Activity as the server has it; nil when it is gone.
func (f *fakeCluster) activity() *egov1.Activity {
	var a egov1.Activity
	err := f.server.Get(context.Background(), key, &a)
	f.must(err)
	if err != nil {
		return nil
	}
	return &a
}

func (f *fakeCluster) pods() []corev1.Pod {
	var list corev1.PodList
	f.must(f.server.List(context.Background(), &list, client.InNamespace(key.Namespace)))
	return list.Items
}

// checkInvariants checks that per attempt at most one pod ever starts, and never while an earlier
// attempt of the same Activity may still run. It calls no Fatal, as it also runs on a leader's goroutine.
func (f *fakeCluster) checkInvariants() {
	f.t.Helper()
	pods, a := f.pods(), f.activity()
	for i := range pods {
		p := &pods[i]
		if journaled(a, p) && !hasFinalizer(p) && !once.PodEnded(p) && p.DeletionTimestamp.IsZero() {
			f.t.Errorf("pod %s was let go before its end", p.Name)
		}
		if once.IsGated(p) || !hasFinalizer(p) && f.ungatedUIDs[p.Name] == "" {
			continue
		}
		if uid, known := f.ungatedUIDs[p.Name]; known && uid != p.UID {
			f.t.Errorf("attempt %s was started twice: pods %s and %s", p.Name, uid, p.UID)
		}
		if f.ungatedUIDs[p.Name] == "" {
			f.checkRetryTime(a, p)
		}
		f.ungatedUIDs[p.Name] = p.UID
		f.checkExclusive(p, pods)
	}
}

// checkRetryTime checks that the attempt did not start before the one before it was over for long enough.
func (f *fakeCluster) checkRetryTime(a *egov1.Activity, p *corev1.Pod) {
	f.t.Helper()
	if a == nil {
		return
	}
	for i := range a.Status.Attempts {
		if i > 0 && a.Status.Attempts[i].PodUID == p.UID && f.now.Before(retryTime(a, &a.Status.Attempts[i-1])) {
			f.t.Errorf("attempt %d started at %s, due %s", i+1, f.now, retryTime(a, &a.Status.Attempts[i-1]))
		}
	}
}

// checkExclusive checks that no other attempt of the same Activity may still run in parallel to this one.
func (f *fakeCluster) checkExclusive(p *corev1.Pod, pods []corev1.Pod) {
	f.t.Helper()
	for i := range pods {
		if other := &pods[i]; other.Name != p.Name && nameWithoutAttempt(other) == nameWithoutAttempt(p) && !once.IsGated(other) &&
			!commandEnded(other) && !commandEnded(p) {
			f.t.Errorf("%s and %s run at the same time", p.Name, other.Name)
		}
	}
}

func journaled(a *egov1.Activity, p *corev1.Pod) bool {
	return a != nil && slices.ContainsFunc(a.Status.Attempts, func(t egov1.Attempt) bool { return t.PodUID == p.UID })
}

// nameWithoutAttempt returns the pod's name without the number of the attempt.
func nameWithoutAttempt(p *corev1.Pod) string { return p.Name[:strings.LastIndex(p.Name, "-")] }

// kubelet binds, starts and ends pods, each by one step, and collects orphans.
func (f *fakeCluster) kubelet() {
	f.t.Helper()
	a := f.activity()
	for _, p := range f.pods() {
		owner := metav1.GetControllerOf(&p)
		switch {
		case p.DeletionTimestamp.IsZero() && owner != nil && (a == nil || a.UID != owner.UID):
			f.must(f.server.Delete(context.Background(), &p))
		case once.IsGated(&p) || once.PodEnded(&p):
		case p.Spec.NodeName == "":
			p.Spec.NodeName = "node-1"
			f.must(f.server.Update(context.Background(), &p))
		case commandStatus(&p).State.Terminated != nil:
			f.reportStatus(&p, phaseOf(commandStatus(&p).State.Terminated.ExitCode), commandStatus(&p).State)
		case commandStatus(&p).State.Running == nil && !p.DeletionTimestamp.IsZero(): // it is not started any more
			f.reportStatus(&p, corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137,
				Reason: reasonStatusUnknown}})
		case commandStatus(&p).State.Running == nil && f.neverStarts:
		case commandStatus(&p).State.Running == nil:
			f.ranPods[p.UID] = true
			f.reportStatus(&p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testTime}})
		default:
			f.endCommand(&p)
		}
	}
	f.checkInvariants()
}

func (f *fakeCluster) endCommand(p *corev1.Pod) {
	var attempt int
	_, err := fmt.Sscanf(p.Name[strings.LastIndex(p.Name, "-"):], "-%d", &attempt)
	f.must(err)
	code := f.exitCodes[min(attempt, len(f.exitCodes))-1]
	switch {
	case !p.DeletionTimestamp.IsZero():
		code = 143
	case code == runsForever:
		return
	}
	f.reportStatus(p, phaseOf(code), corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, StartedAt: testTime, FinishedAt: metav1.NewTime(f.now),
	}})
}

func phaseOf(code int32) corev1.PodPhase {
	if code == 0 {
		return corev1.PodSucceeded
	}
	return corev1.PodFailed
}

// reportStatus writes the kubelet's report: a pod reaches its final phase when all its containers have ended.
func (f *fakeCluster) reportStatus(p *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: appName, ContainerID: "test://" + string(p.UID), State: state}}
	if f.sidecarState != nil {
		other := *f.sidecarState
		switch {
		case !p.DeletionTimestamp.IsZero() && other.Terminated == nil:
			phase, other = corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}}
		case other.Terminated == nil:
			phase = corev1.PodRunning
		case state.Terminated != nil && other.Terminated.ExitCode != 0:
			phase = corev1.PodFailed
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: sidecar.Name, State: other})
	}
	p.Status.Phase = phase
	f.must(f.server.Status().Update(context.Background(), p))
}

// operator is one process: a reconciler, its cache, and its connection to the server.
type operator struct {
	*Reconciler
	cluster   *fakeCluster
	cache     *laggingCache
	intercept oncetest.Intercept
}

func (f *fakeCluster) operator() *operator {
	f.operators++
	o := &operator{cluster: f, intercept: oncetest.Through}
	through := func(call string, do func() error) error {
		return o.intercept(call, func() error {
			err := do()
			if !strings.HasPrefix(call, "get") {
				f.checkInvariants()
			}
			return err
		})
	}
	wire := oncetest.NewClient(f.server, through)
	o.cache = &laggingCache{Client: wire}
	o.Reconciler = &Reconciler{
		Converger:    converge.Converger{Client: o.cache, APIReader: wire, Events: &events.FakeRecorder{}},
		Users:        converge.NewConfigMapReader(metadataCache{wire: wire}, wire),
		Output:       podNameOutput{},
		Clock:        clocktesting.NewFakePassiveClock(f.now),
		DefaultImage: "busybox",
		GuardImage:   fmt.Sprintf("operator:%d", f.operators), // each is of a release of its own
	}
	o.Finalize = o.finalize
	o.sync()
	return o
}

// sync lets the cache see the cluster as it is now.
func (o *operator) sync() { o.syncActivity(); o.syncPods() }

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: name}
}

func (o *operator) syncActivity() { o.cache.activity = o.cluster.activity() }

func (o *operator) syncPods() { o.cache.pods = o.cluster.pods() }

func (o *operator) reconcileOnce() error {
	_, err := o.Reconcile(context.Background(), ctrl.Request{NamespacedName: key})
	return err
}

// runUntilQuiet runs passes and kubelet until nothing moves any more.
func (o *operator) runUntilQuiet() {
	o.cluster.t.Helper()
	for quiet, rounds := 0, 0; quiet < 2; rounds++ {
		if rounds > 100 {
			o.cluster.t.Fatal("the operator and the cluster do not come to rest")
		}
		before := o.cluster.resourceVersions()
		o.sync()
		_ = o.reconcileOnce()
		o.cluster.kubelet()
		if o.cluster.resourceVersions() == before {
			quiet++
		} else {
			quiet = 0
		}
	}
}

func (f *fakeCluster) resourceVersions() string {
	var all []string
	if a := f.activity(); a != nil {
		all = append(all, a.ResourceVersion)
	}
	for _, p := range f.pods() {
		all = append(all, p.Name, p.ResourceVersion)
	}
	return strings.Join(all, " ")
}

// metadataCache reads metadata over the operator's connection: it never lags.
type metadataCache struct {
	crcache.Cache
	wire client.Reader
}

func (m metadataCache) Get(ctx context.Context, at client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return m.wire.Get(ctx, at, obj, opts...)
}

// laggingCache answers reads with what was last synced.
type laggingCache struct {
	client.Client
	activity *egov1.Activity
	pods     []corev1.Pod
}

func (l *laggingCache) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if l.activity == nil {
		return apierrors.NewNotFound(egov1.GroupVersion.WithResource("activities").GroupResource(), key.Name)
	}
	l.activity.DeepCopyInto(obj.(*egov1.Activity))
	return nil
}

func (l *laggingCache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	for i := range l.pods {
		if o.LabelSelector.Matches(labels.Set(l.pods[i].Labels)) {
			list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, *l.pods[i].DeepCopy())
		}
	}
	return nil
}

// podNameOutput is the output of every pod: its name.
type podNameOutput struct{}

func (podNameOutput) Tail(_ context.Context, pod *corev1.Pod, _ int) (outputTail, error) {
	return outputTail{text: pod.Name}, nil
}
