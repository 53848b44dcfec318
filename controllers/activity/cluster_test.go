package activity

import (
	"context"
	"errors"
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

	errKilled     = errors.New("this operator was killed")
	errAnswerLost = errors.New("the answer was lost")
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
	// sidecarState is the state of a container beside the command's, while the pod runs;
	// one that runs goes on until the pod is deleted. Nil: there is none.
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
var sidecar = corev1.Container{Name: "beside", Image: "beside"}

func (w *fakeCluster) must(err error) {
	w.t.Helper()
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
}

// submit creates the Activity as a user would.
func (w *fakeCluster) submit(spec egov1.ActivitySpec) {
	w.t.Helper()
	spec.Command = "true"
	w.must(w.server.Create(context.Background(), &egov1.Activity{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1, CreationTimestamp: metav1.NewTime(w.now)}, Spec: spec,
	}))
}

// activity returns the Activity as the server has it; nil when it is gone.
func (w *fakeCluster) activity() *egov1.Activity {
	var a egov1.Activity
	err := w.server.Get(context.Background(), key, &a)
	w.must(err)
	if err != nil {
		return nil
	}
	return &a
}

func (w *fakeCluster) pods() []corev1.Pod {
	var list corev1.PodList
	w.must(w.server.List(context.Background(), &list, client.InNamespace(key.Namespace)))
	return list.Items
}

// checkInvariants checks that per attempt at most one pod ever starts, and never while an earlier
// attempt of the same Activity may still run. It calls no Fatal, as it also runs on a leader's goroutine.
func (w *fakeCluster) checkInvariants() {
	w.t.Helper()
	pods, a := w.pods(), w.activity()
	for i := range pods {
		p := &pods[i]
		if journaled(a, p) && !hasFinalizer(p) && !podEnded(p) && p.DeletionTimestamp.IsZero() {
			w.t.Errorf("pod %s was let go before its end", p.Name)
		}
		if isGated(p) || !hasFinalizer(p) && w.ungatedUIDs[p.Name] == "" {
			continue
		}
		if one, known := w.ungatedUIDs[p.Name]; known && one != p.UID {
			w.t.Errorf("attempt %s was started twice: pods %s and %s", p.Name, one, p.UID)
		}
		if w.ungatedUIDs[p.Name] == "" {
			w.checkRetryTime(a, p)
		}
		w.ungatedUIDs[p.Name] = p.UID
		w.checkExclusive(p, pods)
	}
}

// checkRetryTime checks that the attempt did not begin before the one before it was over for long enough.
func (w *fakeCluster) checkRetryTime(a *egov1.Activity, p *corev1.Pod) {
	w.t.Helper()
	if a == nil {
		return
	}
	for i := range a.Status.Attempts {
		if i > 0 && a.Status.Attempts[i].PodUID == p.UID && w.now.Before(retryTime(a, &a.Status.Attempts[i-1])) {
			w.t.Errorf("attempt %d began at %s, due %s", i+1, w.now, retryTime(a, &a.Status.Attempts[i-1]))
		}
	}
}

// checkExclusive checks that no other attempt of the same Activity may still run beside this one.
func (w *fakeCluster) checkExclusive(p *corev1.Pod, pods []corev1.Pod) {
	w.t.Helper()
	for i := range pods {
		if other := &pods[i]; other.Name != p.Name && nameWithoutAttempt(other) == nameWithoutAttempt(p) && !isGated(other) && !commandEnded(other) && !commandEnded(p) {
			w.t.Errorf("%s and %s run at the same time", p.Name, other.Name)
		}
	}
}

func journaled(a *egov1.Activity, p *corev1.Pod) bool {
	return a != nil && slices.ContainsFunc(a.Status.Attempts, func(t egov1.Attempt) bool { return t.PodUID == p.UID })
}

// nameWithoutAttempt returns the pod's name without the number of the attempt.
func nameWithoutAttempt(p *corev1.Pod) string { return p.Name[:strings.LastIndex(p.Name, "-")] }

// kubelet binds, starts and ends pods, each by one step, and collects orphans.
func (w *fakeCluster) kubelet() {
	w.t.Helper()
	a := w.activity()
	for _, p := range w.pods() {
		owner := metav1.GetControllerOf(&p)
		switch {
		case p.DeletionTimestamp.IsZero() && owner != nil && (a == nil || a.UID != owner.UID):
			w.must(w.server.Delete(context.Background(), &p))
		case isGated(&p) || podEnded(&p):
		case p.Spec.NodeName == "":
			p.Spec.NodeName = "node-1"
			w.must(w.server.Update(context.Background(), &p))
		case commandStatus(&p).State.Terminated != nil:
			w.reportStatus(&p, phaseOf(commandStatus(&p).State.Terminated.ExitCode), commandStatus(&p).State)
		case commandStatus(&p).State.Running == nil && !p.DeletionTimestamp.IsZero(): // it is not started any more
			w.reportStatus(&p, corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reasonStatusUnknown}})
		case commandStatus(&p).State.Running == nil && w.neverStarts:
		case commandStatus(&p).State.Running == nil:
			w.ranPods[p.UID] = true
			w.reportStatus(&p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testTime}})
		default:
			w.endCommand(&p)
		}
	}
	w.checkInvariants()
}

func (w *fakeCluster) endCommand(p *corev1.Pod) {
	var attempt int
	_, err := fmt.Sscanf(p.Name[strings.LastIndex(p.Name, "-"):], "-%d", &attempt)
	w.must(err)
	code := w.exitCodes[min(attempt, len(w.exitCodes))-1]
	switch {
	case !p.DeletionTimestamp.IsZero():
		code = 143
	case code == runsForever:
		return
	}
	w.reportStatus(p, phaseOf(code), corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, StartedAt: testTime, FinishedAt: metav1.NewTime(w.now),
	}})
}

func phaseOf(code int32) corev1.PodPhase {
	if code == 0 {
		return corev1.PodSucceeded
	}
	return corev1.PodFailed
}

// reportStatus writes the kubelet's report: a pod reaches its final phase when all its containers have ended.
func (w *fakeCluster) reportStatus(p *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: appName, ContainerID: "test://" + string(p.UID), State: state}}
	if w.sidecarState != nil {
		other := *w.sidecarState
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
	w.must(w.server.Status().Update(context.Background(), p))
}

// operator is one process: a reconciler, its cache, and its connection to the server.
type operator struct {
	*Reconciler
	cluster *fakeCluster
	cache   *laggingCache
	// intercept carries one call out; it may fail, lose the answer, or kill the operator.
	intercept func(call string, do func() error) error
}

func (w *fakeCluster) operator() *operator {
	w.operators++
	o := &operator{cluster: w, intercept: func(_ string, do func() error) error { return do() }}
	through := func(call string, do func() error) error {
		return o.intercept(call, func() error {
			err := do()
			if !strings.HasPrefix(call, "get") {
				w.checkInvariants()
			}
			return err
		})
	}
	wire := interceptor.NewClient(w.server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return through(fmt.Sprintf("get %T", obj), func() error { return c.Get(ctx, k, obj, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return through(fmt.Sprintf("create %T", obj), func() error { return c.Create(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			return through(fmt.Sprintf("patch %T", obj), func() error { return c.Patch(ctx, obj, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return through(fmt.Sprintf("delete %T", obj), func() error { return c.Delete(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return through(fmt.Sprintf("patch %T/%s", obj, sub), func() error { return c.SubResource(sub).Patch(ctx, obj, p, opts...) })
		},
	})
	o.cache = &laggingCache{Client: wire}
	o.Reconciler = &Reconciler{
		Converger:    converge.Converger{Client: o.cache, APIReader: wire, Events: &events.FakeRecorder{}},
		Users:        converge.NewConfigMapReader(metadataCache{wire: wire}, wire),
		Output:       podNameOutput{},
		Clock:        clocktesting.NewFakePassiveClock(w.now),
		DefaultImage: "busybox",
		GuardImage:   fmt.Sprintf("operator:%d", w.operators), // each is of a release of its own
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

func (w *fakeCluster) resourceVersions() string {
	var all []string
	if a := w.activity(); a != nil {
		all = append(all, a.ResourceVersion)
	}
	for _, p := range w.pods() {
		all = append(all, p.Name, p.ResourceVersion)
	}
	return strings.Join(all, " ")
}

// metadataCache reads metadata over the operator's connection: it never lags.
type metadataCache struct {
	crcache.Cache
	wire client.Reader
}

func (v metadataCache) Get(ctx context.Context, at client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return v.wire.Get(ctx, at, obj, opts...)
}

// laggingCache answers reads with what was last synced.
type laggingCache struct {
	client.Client
	activity *egov1.Activity
	pods     []corev1.Pod
}

func (c *laggingCache) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if c.activity == nil {
		return apierrors.NewNotFound(egov1.GroupVersion.WithResource("activities").GroupResource(), key.Name)
	}
	c.activity.DeepCopyInto(obj.(*egov1.Activity))
	return nil
}

func (c *laggingCache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	for i := range c.pods {
		if o.LabelSelector.Matches(labels.Set(c.pods[i].Labels)) {
			list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, *c.pods[i].DeepCopy())
		}
	}
	return nil
}

// podNameOutput is the output of every pod: its name.
type podNameOutput struct{}

func (podNameOutput) Tail(_ context.Context, pod *corev1.Pod, _ int) (outputTail, error) {
	return outputTail{text: pod.Name}, nil
}
