package activity

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/explore"
)

// scenario is one run of an Activity with what a user does to it halfway.
type scenario struct {
	spec          egov1.ActivitySpec
	exitCodes     []int32
	intervene     func(w *fakeCluster)      // happens once, when interveneWhen holds
	interveneWhen func(w *fakeCluster) bool // nil: the first command has started
	neverStarts   bool                      // no command starts
	sidecarState  *corev1.ContainerState
	sameCalls     bool // as another scenario, in which each of them goes wrong already
	want          egov1.ProcessState
	wantAttempts  int
	wantGone      bool // the Activity itself
	wantNotRun    bool // no command ran
}

var scenarios = map[string]scenario{
	"success": {exitCodes: []int32{0}, want: egov1.Succeeded, wantAttempts: 1},
	"a retry": {spec: egov1.ActivitySpec{Retries: 3}, exitCodes: []int32{1, 0}, want: egov1.Succeeded, wantAttempts: 2},
	"args": {spec: egov1.ActivitySpec{Args: []string{"a"}, Retries: 1}, exitCodes: []int32{1, 0}, want: egov1.Succeeded,
		wantAttempts: 2},
	"all fail":        {spec: egov1.ActivitySpec{Retries: 1}, exitCodes: []int32{1}, want: egov1.Failed, wantAttempts: 2},
	"cancelled":       {exitCodes: []int32{runsForever}, intervene: cancel, want: egov1.Cancelled, wantAttempts: 1},
	"cancelled early": {spec: egov1.ActivitySpec{Cancel: true}, exitCodes: []int32{0}, want: egov1.Cancelled, wantAttempts: 1},
	"pod deleted": {spec: egov1.ActivitySpec{Retries: 1}, exitCodes: []int32{runsForever, 0}, intervene: deletePods, want: egov1.Succeeded,
		wantAttempts: 2},
	"expires": {spec: egov1.ActivitySpec{TTLSecondsAfterFinished: new(int32)}, exitCodes: []int32{0}, wantGone: true},
	"suspended early": {spec: egov1.ActivitySpec{Suspend: true}, exitCodes: []int32{0}, interveneWhen: prostaIs(egov1.Suspended),
		intervene: resume, want: egov1.Succeeded, wantAttempts: 1},
	"suspended later": {spec: egov1.ActivitySpec{Retries: 1}, exitCodes: []int32{1, 0}, intervene: func(w *fakeCluster) { suspend(w, true) },
		want: egov1.Suspended, wantAttempts: 1},
	"suspended, then cancelled": {spec: egov1.ActivitySpec{Suspend: true}, exitCodes: []int32{0}, interveneWhen: prostaIs(egov1.Suspended),
		intervene: cancel,
		want:      egov1.Cancelled, wantAttempts: 1},
	"too late": {spec: egov1.ActivitySpec{Retries: 1, StartDeadline: &metav1.Duration{Duration: time.Minute}}, exitCodes: []int32{0},
		want: egov1.Failed, wantAttempts: 1, wantNotRun: true},
	"too late on its way": {spec: egov1.ActivitySpec{Retries: 1, StartDeadline: &metav1.Duration{Duration: 2 * time.Hour}},
		exitCodes: []int32{0}, neverStarts: true,
		interveneWhen: hasNode, intervene: func(w *fakeCluster) { w.now = w.now.Add(2 * time.Hour) }, want: egov1.Failed, wantAttempts: 1,
		wantNotRun: true},
	"backs off": {spec: egov1.ActivitySpec{Retries: 1, RetryPolicy: defaultRetryPolicy}, exitCodes: []int32{1, 0},
		interveneWhen: prostaIs(egov1.Retrying),
		intervene:     func(w *fakeCluster) { w.now = w.now.Add(time.Hour) }, want: egov1.Succeeded, wantAttempts: 2},
	"next to one that continues": {sameCalls: true, spec: egov1.ActivitySpec{Retries: 1}, exitCodes: []int32{0},
		sidecarState: &sidecarRunning, want: egov1.Succeeded, wantAttempts: 1},
	"a retry next to one that continues": {spec: egov1.ActivitySpec{Retries: 3}, exitCodes: []int32{1, 0}, sidecarState: &sidecarRunning,
		want: egov1.Succeeded, wantAttempts: 2},
	"next to one that never starts": {sameCalls: true, spec: egov1.ActivitySpec{Retries: 1}, exitCodes: []int32{0},
		sidecarState: &sidecarUnpullable, want: egov1.Succeeded, wantAttempts: 1},
	"next to one that fails": {spec: egov1.ActivitySpec{Retries: 1}, exitCodes: []int32{0}, sidecarState: &sidecarFailed,
		want: egov1.Succeeded, wantAttempts: 1},
	"a retry next to one that ends first": {sameCalls: true, spec: egov1.ActivitySpec{Retries: 1}, exitCodes: []int32{1, 0},
		sidecarState: &sidecarEnded, want: egov1.Succeeded, wantAttempts: 2},
	"cancelled next to one that continues": {exitCodes: []int32{runsForever}, sidecarState: &sidecarRunning, intervene: cancel,
		want: egov1.Cancelled, wantAttempts: 1},
	"expires next to one that continues": {sameCalls: true, spec: egov1.ActivitySpec{TTLSecondsAfterFinished: new(int32)},
		exitCodes: []int32{0}, sidecarState: &sidecarRunning, wantGone: true},
	"deleted": {exitCodes: []int32{0}, intervene: deleteActivity, wantGone: true},
	"deleted and made again": {exitCodes: []int32{0}, want: egov1.Succeeded, wantAttempts: 1, intervene: func(w *fakeCluster) {
		deleteActivity(w)
		w.submit(egov1.ActivitySpec{})
	}},
}

// These are states of a container next to the command's.
var (
	sidecarRunning    = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testTime}}
	sidecarUnpullable = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}
	sidecarFailed     = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 9, Reason: "Error", StartedAt: testTime,
		FinishedAt: testTime}}
	sidecarEnded = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: testTime,
		FinishedAt: testTime}}
)

func cancel(w *fakeCluster) {
	if a := w.activity(); a != nil {
		a.Spec.Cancel = true
		w.must(w.server.Update(context.Background(), a))
	}
}

func suspend(w *fakeCluster, suspend bool) {
	if a := w.activity(); a != nil {
		a.Spec.Suspend = suspend
		w.must(w.server.Update(context.Background(), a))
	}
}

func resume(w *fakeCluster) { suspend(w, false) }

// prostaIs returns a func that reports whether the status has this prosta.
func prostaIs(prosta egov1.ProcessState) func(w *fakeCluster) bool {
	return func(w *fakeCluster) bool { return w.activity().Status.Prosta == prosta }
}

func hasRun(w *fakeCluster) bool { return len(w.ranPods) > 0 }

func hasNode(w *fakeCluster) bool {
	return slices.ContainsFunc(w.pods(), func(p corev1.Pod) bool { return p.Spec.NodeName != "" })
}

func deleteActivity(w *fakeCluster) { w.must(w.server.Delete(context.Background(), w.activity())) }

func deletePods(w *fakeCluster) {
	for _, p := range w.pods() {
		w.must(w.server.Delete(context.Background(), &p))
	}
}

// newCluster returns the cluster of the scenario, an hour after its Activity was made.
func (s *scenario) newCluster(t *testing.T) *fakeCluster {
	t.Helper()
	w := newFakeCluster(t, s.exitCodes...)
	w.neverStarts, w.sidecarState = s.neverStarts, s.sidecarState
	w.submit(s.spec)
	w.now = w.now.Add(time.Hour)
	if s.interveneWhen == nil {
		s.interveneWhen = hasRun
	}
	return w
}

// run runs the scenario with that crash.
func (s scenario) run(t *testing.T, crash *oncetest.Crash) {
	t.Helper()
	w := s.newCluster(t)
	meddled := s.intervene == nil
	for range 12 {
		o := w.operator() // a new process each time: nothing may live in memory only
		crash.Attach(&o.intercept)
		_ = o.reconcileOnce()
		if !meddled && s.interveneWhen(w) {
			meddled = true
			s.intervene(w)
		}
		w.kubelet()
		if crash.Met() && meddled {
			break
		}
	}
	w.operator().runUntilQuiet()
	s.check(w)
}

func (s scenario) check(w *fakeCluster) {
	w.t.Helper()
	for _, p := range w.pods() {
		if hasFinalizer(&p) {
			w.t.Errorf("pod %s is still held", p.Name)
		}
		if once.IsGated(&p) {
			w.t.Errorf("pod %s was left behind its gate", p.Name)
		}
		if !once.PodEnded(&p) {
			w.t.Errorf("pod %s was left to run: %+v", p.Name, p.Status)
		}
	}
	a := w.activity()
	if s.wantGone {
		if a != nil || len(w.pods()) > 0 {
			w.t.Errorf("not gone: %v, %d pods", a, len(w.pods()))
		}
		return
	}
	if a.Status.Prosta != s.want || len(a.Status.Attempts) != s.wantAttempts {
		w.t.Errorf("prosta %s after %d attempts, want %s after %d: %+v", a.Status.Prosta, len(a.Status.Attempts), s.want, s.wantAttempts,
			a.Status)
	}
	for _, p := range w.pods() {
		checkAsJournaled(w.t, a, &p)
	}
	for _, attempt := range a.Status.Attempts {
		if attempt.PodUID != "" && w.ranPods[attempt.PodUID] == s.wantNotRun {
			w.t.Errorf("attempt %d ran: %v", attempt.Number, w.ranPods[attempt.PodUID])
		}
	}
}

// checkAsJournaled checks that a pod is guarded as the status says, whichever operator made it.
func checkAsJournaled(t *testing.T, a *egov1.Activity, p *corev1.Pod) {
	t.Helper()
	for _, attempt := range a.Status.Attempts {
		made := desiredPod(a, attempt).Spec
		p.Spec.Containers = slices.DeleteFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == sidecar.Name })
		if attempt.PodUID == p.UID && (!reflect.DeepEqual(p.Spec.InitContainers, made.InitContainers) ||
			!reflect.DeepEqual(p.Spec.Containers, made.Containers)) {
			t.Errorf("pod %s is not as attempt %+v says: %+v", p.Name, attempt, p.Spec)
		}
		if attempt.GuardImage == "" {
			t.Errorf("attempt %d has no guard", attempt.Number)
		}
	}
}

// TestCrash meets every call of every scenario with every fault; without FULL=1 every third call, each fault another one.
func TestCrash(t *testing.T) {
	step := explore.Every(3)
	for i, name := range slices.Sorted(maps.Keys(scenarios)) {
		s := scenarios[name]
		if s.sameCalls {
			continue
		}
		t.Run(name, func(t *testing.T) { oncetest.EachCall(t, i, step, s.run) })
	}
}

// TestStaleCache runs every scenario with operators that see the cluster as it was some
// passes ago and remember nothing.
func TestStaleCache(t *testing.T) {
	for name, s := range scenarios {
		for lag := 1; lag <= 8; lag++ {
			t.Run(fmt.Sprintf("%s/%d", name, lag), func(t *testing.T) {
				w := s.newCluster(t)
				var views []*laggingCache
				meddled := s.intervene == nil
				for range 20 {
					o := w.operator()
					views = append(views, &laggingCache{activity: o.cache.activity, pods: o.cache.pods})
					old := views[max(0, len(views)-1-lag)]
					o.cache.activity, o.cache.pods = old.activity, old.pods
					_ = o.reconcileOnce()
					if !meddled && s.interveneWhen(w) {
						meddled = true
						s.intervene(w)
					}
					w.kubelet()
				}
				w.operator().runUntilQuiet()
				s.check(w)
			})
		}
	}
}

// An older object may ask to stop an attempt that its user has let continue since.
func TestAnOlderActivityStopsNothing(t *testing.T) {
	w := newFakeCluster(t, 0)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	for range 2 { // its pod is created, and may start
		o.sync()
		w.must(o.reconcileOnce())
	}
	cancel := func(wanted bool) {
		a := w.activity()
		a.Spec.Cancel = wanted
		w.must(w.server.Update(context.Background(), a))
	}
	isStopped := func() bool { return len(w.pods()) == 0 || !w.pods()[0].DeletionTimestamp.IsZero() }
	cancel(true)
	o.sync()
	cancel(false)
	if err := o.reconcileOnce(); err != nil || isStopped() {
		t.Errorf("the pod is stopped: %t, error: %v", isStopped(), err)
	}
	cancel(true)
	o.sync()
	if err := o.reconcileOnce(); err != nil || !isStopped() {
		t.Errorf("by the newest object the pod is stopped: %t, error: %v", isStopped(), err)
	}
}

// TestStranger checks that the operator leaves alone a pod of our name that somebody else
// made, and continues when it is gone.
func TestStranger(t *testing.T) {
	for name, forge := range map[string]func(p *corev1.Pod){
		"unowned":               func(p *corev1.Pod) { p.OwnerReferences = nil },
		"of another UID":        func(p *corev1.Pod) { p.OwnerReferences[0].UID = "another" },
		"ours in name, ungated": func(p *corev1.Pod) { p.Spec.SchedulingGates = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeCluster(t, 0)
			w.submit(egov1.ActivitySpec{})
			a := w.activity()
			stranger := desiredPod(a, egov1.Attempt{PodName: podName(a, 1)})
			stranger.Finalizers, stranger.Labels = nil, nil
			forge(stranger)
			w.must(w.server.Create(context.Background(), stranger))
			o := w.operator()
			for range 3 {
				o.sync()
				_ = o.reconcileOnce()
			}
			degraded := meta.FindStatusCondition(w.activity().Status.Conditions, commonv1.ConditionDegraded)
			if degraded == nil || degraded.Reason != commonv1.ReasonNameConflict {
				t.Errorf("Degraded is %+v", degraded)
			}
			after := w.pods()
			if len(after) != 1 || after[0].ResourceVersion != stranger.ResourceVersion {
				t.Errorf("the stranger was touched: %+v", after)
			}
			w.must(w.server.Delete(context.Background(), stranger))
			o.runUntilQuiet()
			if got := w.activity().Status; got.Prosta != egov1.Succeeded {
				t.Errorf("after the stranger: %+v", got)
			}
		})
	}
}

// TestAdopt checks that a pod is adopted when the answer to its creation was lost.
func TestAdopt(t *testing.T) {
	w := newFakeCluster(t, 0)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	o.intercept = func(call string, do func() error) error {
		err := do()
		if call == "create *v1.Pod" {
			return oncetest.ErrAnswerLost
		}
		return err
	}
	_ = o.reconcileOnce()
	made := w.pods()
	o.runUntilQuiet()
	a := w.activity()
	if len(made) != 1 || a.Status.Prosta != egov1.Succeeded || a.Status.Attempts[0].PodUID != made[0].UID {
		t.Errorf("made %d pods, status %+v", len(made), a.Status)
	}
}

// TestLost checks that an attempt whose pod vanished is never run again.
func TestLost(t *testing.T) {
	w := newFakeCluster(t, 0)
	w.submit(egov1.ActivitySpec{Retries: 5})
	o := w.operator()
	for len(w.ranPods) == 0 {
		o.sync()
		w.must(o.reconcileOnce())
		w.kubelet()
	}
	for _, p := range w.pods() {
		p.Finalizers = nil
		w.must(w.server.Update(context.Background(), &p))
		w.must(w.server.Delete(context.Background(), &p))
	}
	o.runUntilQuiet()
	if got := w.activity().Status; got.Prosta != egov1.Lost || len(w.ranPods) != 1 || got.Reason != commonv1.ReasonPodGone {
		t.Errorf("%d pods ran, status %+v", len(w.ranPods), got)
	}
}

// TestQuiet checks that the operator sends nothing at rest, also after a restart.
func TestQuiet(t *testing.T) {
	for name, s := range scenarios {
		if s.wantGone {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := s.newCluster(t)
			o := w.operator()
			o.runUntilQuiet()
			for _, o := range []*operator{o, w.operator()} {
				o.sync()
				var calls []string
				o.intercept = func(call string, do func() error) error { calls = append(calls, call); return do() }
				for range 5 {
					w.must(o.reconcileOnce())
				}
				if len(calls) > 0 {
					t.Errorf("sent %v", calls)
				}
			}
		})
	}
}

// TestForeignFinalizer checks that other people's finalizers stay in place.
func TestForeignFinalizer(t *testing.T) {
	w := newFakeCluster(t, 0)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	w.must(o.reconcileOnce())
	p := w.pods()[0]
	p.Finalizers = append(p.Finalizers, "example.com/theirs")
	w.must(w.server.Update(context.Background(), &p))
	o.runUntilQuiet()
	if got := w.pods()[0].Finalizers; !slices.Equal(got, []string{"example.com/theirs"}) {
		t.Errorf("finalizers %v", got)
	}
}

// TestALabelGivesNoPodAway has somebody label a pod as that of an Activity that does not exist. An
// operator that finalizes that one first must not release the pod.
func TestALabelGivesNoPodAway(t *testing.T) {
	w := newFakeCluster(t, 0)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	w.must(o.reconcileOnce())
	p := w.pods()[0]
	p.Labels[parts.LabelInstance] = "another"
	w.must(w.server.Update(context.Background(), &p))
	o.sync()
	w.must(o.finalize(context.Background(), keyOf("another")))
	if p := w.pods()[0]; !hasFinalizer(&p) {
		t.Fatal("it was let go before its end was written down")
	}
	w.must(o.reconcileOnce())
	if got := w.pods()[0].Labels[parts.LabelInstance]; got != key.Name {
		t.Errorf("it is still %q's", got)
	}
	deleteActivity(w)
	o.runUntilQuiet()
	if left := w.pods(); len(left) > 0 && hasFinalizer(&left[0]) {
		t.Error("it was not let go with its Activity")
	}
}

// TestAStartIsMarkedOnce checks that the mark is the ID of the container that was first seen to run.
func TestAStartIsMarkedOnce(t *testing.T) {
	w := newFakeCluster(t, runsForever)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	for range 2 { // it gets a node, and then runs
		o.sync()
		w.must(o.reconcileOnce())
		if p := w.pods()[0]; p.Annotations[annotationStartMark] != "" {
			t.Fatalf("marked before it was seen to run: %v", p.Annotations)
		}
		w.kubelet()
	}
	o.runUntilQuiet()
	p := w.pods()[0]
	if got := p.Annotations[annotationStartMark]; got == "" || got != commandStatus(&p).ContainerID {
		t.Errorf("marked %q", got)
	}
}

// TestANodeThatStartsOver has a kubelet that knows nothing of what it ran, and starts the
// pod again. It is not known how the command ended: the run is Lost, and is not tried again.
func TestANodeThatStartsOver(t *testing.T) {
	lost := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reasonStatusUnknown}}
	for name, restarted := range map[string]corev1.ContainerStatus{
		"about to start it": {State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
			LastTerminationState: lost, RestartCount: 1},
		"has started it":   {State: sidecarRunning, ContainerID: "test://another"},
		"has seen its end": {State: sidecarEnded, ContainerID: "test://another"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeCluster(t, runsForever)
			w.submit(egov1.ActivitySpec{Retries: 5})
			o := w.operator()
			o.runUntilQuiet()
			p := w.pods()[0]
			restarted.Name = appName
			p.Status.ContainerStatuses = []corev1.ContainerStatus{restarted}
			w.must(w.server.Status().Update(context.Background(), &p))
			o.runUntilQuiet()
			if got := w.activity().Status; got.Prosta != egov1.Lost || got.Reason != commonv1.ReasonStartedTwice || got.ExitCode != nil {
				t.Errorf("status %+v", got)
			}
			if left := w.pods(); len(left) > 0 && !once.PodEnded(&left[0]) {
				t.Errorf("it continues: %+v", left[0].Status)
			}
		})
	}
}
