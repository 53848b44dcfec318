package activity

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// faults are the ways in which one call can go wrong.
var faults = map[string]func(o *operator, do func() error) error{
	"killed before the call": func(o *operator, _ func() error) error { o.kill(); return errKilled },
	"killed after the call":  func(o *operator, do func() error) error { _ = do(); o.kill(); return errKilled },
	"answer lost":            func(_ *operator, do func() error) error { _ = do(); return errLost },
	"conflict": func(_ *operator, _ func() error) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "any"}, "any", errLost)
	},
}

func (o *operator) kill() { o.line = func(string, func() error) error { return errKilled } }

// tale is one run of an Activity with what a user does to it halfway.
type tale struct {
	spec     egov1.ActivitySpec
	exits    []int32
	meddle   func(w *world)      // once:
	when     func(w *world) bool // nil: the first command has started
	stuck    bool                // no command starts
	beside   *corev1.ContainerState
	like     bool // another tale: it makes the same calls, and each of those goes wrong there
	want     egov1.ProcessState
	attempts int
	gone     bool // the Activity itself
	unrun    bool // no command ran
}

var tales = map[string]tale{
	"success":         {exits: []int32{0}, want: egov1.Succeeded, attempts: 1},
	"a retry":         {spec: egov1.ActivitySpec{Retries: 3}, exits: []int32{1, 0}, want: egov1.Succeeded, attempts: 2},
	"args":            {spec: egov1.ActivitySpec{Args: []string{"a"}, Retries: 1}, exits: []int32{1, 0}, want: egov1.Succeeded, attempts: 2},
	"all fail":        {spec: egov1.ActivitySpec{Retries: 1}, exits: []int32{1}, want: egov1.Failed, attempts: 2},
	"cancelled":       {exits: []int32{forever}, meddle: cancel, want: egov1.Cancelled, attempts: 1},
	"cancelled early": {spec: egov1.ActivitySpec{Cancel: true}, exits: []int32{0}, want: egov1.Cancelled, attempts: 1},
	"pod deleted":     {spec: egov1.ActivitySpec{Retries: 1}, exits: []int32{forever, 0}, meddle: deletePods, want: egov1.Succeeded, attempts: 2},
	"expires":         {spec: egov1.ActivitySpec{TTLSecondsAfterFinished: new(int32)}, exits: []int32{0}, gone: true},
	"suspended early": {spec: egov1.ActivitySpec{Suspend: true}, exits: []int32{0}, when: is(egov1.Suspended), meddle: resume, want: egov1.Succeeded, attempts: 1},
	"suspended later": {spec: egov1.ActivitySpec{Retries: 1}, exits: []int32{1, 0}, meddle: func(w *world) { suspend(w, true) }, want: egov1.Suspended, attempts: 1},
	"suspended, then cancelled": {spec: egov1.ActivitySpec{Suspend: true}, exits: []int32{0}, when: is(egov1.Suspended), meddle: cancel,
		want: egov1.Cancelled, attempts: 1},
	"too late": {spec: egov1.ActivitySpec{Retries: 1, StartDeadline: &metav1.Duration{Duration: time.Minute}}, exits: []int32{0},
		want: egov1.Failed, attempts: 1, unrun: true},
	"too late on its way": {spec: egov1.ActivitySpec{Retries: 1, StartDeadline: &metav1.Duration{Duration: 2 * time.Hour}}, exits: []int32{0}, stuck: true,
		when: bound, meddle: func(w *world) { w.now = w.now.Add(2 * time.Hour) }, want: egov1.Failed, attempts: 1, unrun: true},
	"backs off": {spec: egov1.ActivitySpec{Retries: 1, RetryPolicy: backoff}, exits: []int32{1, 0}, when: is(egov1.Retrying),
		meddle: func(w *world) { w.now = w.now.Add(time.Hour) }, want: egov1.Succeeded, attempts: 2},
	"beside one that goes on":            {like: true, spec: egov1.ActivitySpec{Retries: 1}, exits: []int32{0}, beside: &goingOn, want: egov1.Succeeded, attempts: 1},
	"a retry beside one that goes on":    {spec: egov1.ActivitySpec{Retries: 3}, exits: []int32{1, 0}, beside: &goingOn, want: egov1.Succeeded, attempts: 2},
	"beside one that never starts":       {like: true, spec: egov1.ActivitySpec{Retries: 1}, exits: []int32{0}, beside: &unpullable, want: egov1.Succeeded, attempts: 1},
	"beside one that fails":              {spec: egov1.ActivitySpec{Retries: 1}, exits: []int32{0}, beside: &sidecarFailed, want: egov1.Succeeded, attempts: 1},
	"a retry beside one that ends first": {like: true, spec: egov1.ActivitySpec{Retries: 1}, exits: []int32{1, 0}, beside: &sidecarEnded, want: egov1.Succeeded, attempts: 2},
	"cancelled beside one that goes on":  {exits: []int32{forever}, beside: &goingOn, meddle: cancel, want: egov1.Cancelled, attempts: 1},
	"expires beside one that goes on":    {like: true, spec: egov1.ActivitySpec{TTLSecondsAfterFinished: new(int32)}, exits: []int32{0}, beside: &goingOn, gone: true},
	"deleted":                            {exits: []int32{0}, meddle: deleteActivity, gone: true},
	"deleted and made again": {exits: []int32{0}, want: egov1.Succeeded, attempts: 1, meddle: func(w *world) {
		deleteActivity(w)
		w.submit(egov1.ActivitySpec{})
	}},
}

// How a container beside the command's stands.
var (
	goingOn       = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: epoch}}
	unpullable    = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}
	sidecarFailed = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 9, Reason: "Error", StartedAt: epoch, FinishedAt: epoch}}
	sidecarEnded  = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: epoch, FinishedAt: epoch}}
)

func cancel(w *world) {
	if a := w.activity(); a != nil {
		a.Spec.Cancel = true
		w.must(w.server.Update(context.Background(), a))
	}
}

func suspend(w *world, suspend bool) {
	if a := w.activity(); a != nil {
		a.Spec.Suspend = suspend
		w.must(w.server.Update(context.Background(), a))
	}
}

func resume(w *world) { suspend(w, false) }

// is true when the status says so.
func is(prosta egov1.ProcessState) func(w *world) bool {
	return func(w *world) bool { return w.activity().Status.Prosta == prosta }
}

func ran(w *world) bool { return len(w.ran) > 0 }

func bound(w *world) bool {
	return slices.ContainsFunc(w.pods(), func(p corev1.Pod) bool { return p.Spec.NodeName != "" })
}

func deleteActivity(w *world) { w.must(w.server.Delete(context.Background(), w.activity())) }

func deletePods(w *world) {
	for _, p := range w.pods() {
		w.must(w.server.Delete(context.Background(), &p))
	}
}

// begin makes the world of the tale, an hour after its Activity was made.
func (s *tale) begin(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, s.exits...)
	w.stuck, w.beside = s.stuck, s.beside
	w.submit(s.spec)
	w.now = w.now.Add(time.Hour)
	if s.when == nil {
		s.when = ran
	}
	return w
}

// play runs the tale; the nth call of the operator meets the fault. It says
// which call that was, or "" when there were not so many.
func (s tale) play(t *testing.T, nth int, fault func(*operator, func() error) error) string {
	t.Helper()
	w := s.begin(t)
	met, count := "", 0
	line := func(o *operator) {
		o.line = func(call string, do func() error) error {
			if count++; count == nth {
				met = call
				return fault(o, do)
			}
			return do()
		}
	}
	meddled := s.meddle == nil
	for range 12 {
		o := w.operator() // a new process each time: nothing may live in memory only
		line(o)
		_ = o.pass()
		if !meddled && s.when(w) {
			meddled = true
			s.meddle(w)
		}
		w.kubelet()
		if met != "" && meddled {
			break
		}
	}
	w.operator().calm()
	s.check(w)
	return met
}

func (s tale) check(w *world) {
	w.t.Helper()
	for _, p := range w.pods() {
		if held(&p) {
			w.t.Errorf("pod %s is still held", p.Name)
		}
		if gated(&p) {
			w.t.Errorf("pod %s was left behind its gate", p.Name)
		}
		if !ended(&p) {
			w.t.Errorf("pod %s was left to run: %+v", p.Name, p.Status)
		}
	}
	a := w.activity()
	if s.gone {
		if a != nil || len(w.pods()) > 0 {
			w.t.Errorf("not gone: %v, %d pods", a, len(w.pods()))
		}
		return
	}
	if a.Status.Prosta != s.want || len(a.Status.Attempts) != s.attempts {
		w.t.Errorf("prosta %s after %d attempts, want %s after %d: %+v", a.Status.Prosta, len(a.Status.Attempts), s.want, s.attempts, a.Status)
	}
	for _, p := range w.pods() {
		asJournaled(w.t, a, &p)
	}
	for _, attempt := range a.Status.Attempts {
		if attempt.PodUID != "" && w.ran[attempt.PodUID] == s.unrun {
			w.t.Errorf("attempt %d ran: %v", attempt.Number, w.ran[attempt.PodUID])
		}
	}
}

// asJournaled: whichever operator made a pod, it is guarded as the status says.
func asJournaled(t *testing.T, a *egov1.Activity, p *corev1.Pod) {
	t.Helper()
	for _, attempt := range a.Status.Attempts {
		made := desired(a, attempt).Spec
		p.Spec.Containers = slices.DeleteFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == sidecar.Name })
		if attempt.PodUID == p.UID && (!reflect.DeepEqual(p.Spec.InitContainers, made.InitContainers) || !reflect.DeepEqual(p.Spec.Containers, made.Containers)) {
			t.Errorf("pod %s is not as attempt %+v says: %+v", p.Name, attempt, p.Spec)
		}
		if brought := attempt.GuardImage != ""; brought != (len(a.Spec.Args) > 0) {
			t.Errorf("args %q, guard %q", a.Spec.Args, attempt.GuardImage)
		}
	}
}

// TestCrash meets every call of every tale with every fault.
func TestCrash(t *testing.T) {
	for name, s := range tales {
		if s.like {
			continue
		}
		for kind, fault := range faults {
			for nth := 1; ; nth++ {
				met := ""
				ok := t.Run(fmt.Sprintf("%s/%s/%02d", name, kind, nth), func(t *testing.T) { met = s.play(t, nth, fault) })
				if met == "" || !ok {
					break
				}
			}
		}
	}
}

// TestStaleCache runs every tale by operators that see the world as it was some
// passes ago and remember nothing.
func TestStaleCache(t *testing.T) {
	for name, s := range tales {
		for lag := 1; lag <= 8; lag++ {
			t.Run(fmt.Sprintf("%s/%d", name, lag), func(t *testing.T) {
				w := s.begin(t)
				var views []*cache
				meddled := s.meddle == nil
				for range 20 {
					o := w.operator()
					views = append(views, &cache{activity: o.cache.activity, pods: o.cache.pods})
					old := views[max(0, len(views)-1-lag)]
					o.cache.activity, o.cache.pods = old.activity, old.pods
					_ = o.pass()
					if !meddled && s.when(w) {
						meddled = true
						s.meddle(w)
					}
					w.kubelet()
				}
				w.operator().calm()
				s.check(w)
			})
		}
	}
}

// TestStranger refuses a pod of our name that somebody else made, leaves it
// alone, and goes on when it is gone.
func TestStranger(t *testing.T) {
	for name, forge := range map[string]func(p *corev1.Pod){
		"unowned":               func(p *corev1.Pod) { p.OwnerReferences = nil },
		"of another UID":        func(p *corev1.Pod) { p.OwnerReferences[0].UID = "another" },
		"ours in name, ungated": func(p *corev1.Pod) { p.Spec.SchedulingGates = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0)
			w.submit(egov1.ActivitySpec{})
			a := w.activity()
			stranger := desired(a, egov1.Attempt{PodName: podName(a, 1)})
			stranger.Finalizers, stranger.Labels = nil, nil
			forge(stranger)
			w.must(w.server.Create(context.Background(), stranger))
			o := w.operator()
			for range 3 {
				o.sync()
				_ = o.pass()
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
			o.calm()
			if got := w.activity().Status; got.Prosta != egov1.Succeeded {
				t.Errorf("after the stranger: %+v", got)
			}
		})
	}
}

// TestAdopt takes a pod over that an answer was lost for.
func TestAdopt(t *testing.T) {
	w := newWorld(t, 0)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	o.line = func(call string, do func() error) error {
		err := do()
		if call == "create *v1.Pod" {
			return errLost
		}
		return err
	}
	_ = o.pass()
	made := w.pods()
	o.calm()
	a := w.activity()
	if len(made) != 1 || a.Status.Prosta != egov1.Succeeded || a.Status.Attempts[0].PodUID != made[0].UID {
		t.Errorf("made %d pods, status %+v", len(made), a.Status)
	}
}

// TestLost never runs an attempt again whose pod went away under it.
func TestLost(t *testing.T) {
	w := newWorld(t, 0)
	w.submit(egov1.ActivitySpec{Retries: 5})
	o := w.operator()
	for len(w.ran) == 0 {
		o.sync()
		w.must(o.pass())
		w.kubelet()
	}
	for _, p := range w.pods() {
		p.Finalizers = nil
		w.must(w.server.Update(context.Background(), &p))
		w.must(w.server.Delete(context.Background(), &p))
	}
	o.calm()
	if got := w.activity().Status; got.Prosta != egov1.Lost || len(w.ran) != 1 || got.Reason != commonv1.ReasonPodGone {
		t.Errorf("%d pods ran, status %+v", len(w.ran), got)
	}
}

// TestQuiet sends nothing at rest, also after a restart.
func TestQuiet(t *testing.T) {
	for name, s := range tales {
		if s.gone {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := s.begin(t)
			o := w.operator()
			o.calm()
			for _, o := range []*operator{o, w.operator()} {
				o.sync()
				var calls []string
				o.line = func(call string, do func() error) error { calls = append(calls, call); return do() }
				for range 5 {
					w.must(o.pass())
				}
				if len(calls) > 0 {
					t.Errorf("sent %v", calls)
				}
			}
		})
	}
}

// TestForeignFinalizer leaves other people's gates and finalizers in place.
func TestForeignFinalizer(t *testing.T) {
	w := newWorld(t, 0)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	w.must(o.pass())
	p := w.pods()[0]
	p.Finalizers = append(p.Finalizers, "example.com/theirs")
	w.must(w.server.Update(context.Background(), &p))
	o.calm()
	if got := w.pods()[0].Finalizers; !slices.Equal(got, []string{"example.com/theirs"}) {
		t.Errorf("finalizers %v", got)
	}
}

// TestALabelGivesNoPodAway has somebody give a pod to an Activity that is not there. Who
// is asked about that one first must not let go of the pod.
func TestALabelGivesNoPodAway(t *testing.T) {
	w := newWorld(t, 0)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	w.must(o.pass())
	p := w.pods()[0]
	p.Labels[parts.LabelInstance] = "another"
	w.must(w.server.Update(context.Background(), &p))
	o.sync()
	w.must(o.letGo(context.Background(), keyOf("another")))
	if p := w.pods()[0]; !held(&p) {
		t.Fatal("it was let go before its end was written down")
	}
	w.must(o.pass())
	if got := w.pods()[0].Labels[parts.LabelInstance]; got != key.Name {
		t.Errorf("it is still %q's", got)
	}
	deleteActivity(w)
	o.calm()
	if left := w.pods(); len(left) > 0 && held(&left[0]) {
		t.Error("it was not let go with its Activity")
	}
}

// TestAStartIsMarkedOnce, by the container that was seen first.
func TestAStartIsMarkedOnce(t *testing.T) {
	w := newWorld(t, forever)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	for range 2 { // it gets a node, and then runs
		o.sync()
		w.must(o.pass())
		if p := w.pods()[0]; p.Annotations[startMark] != "" {
			t.Fatalf("marked before it was seen to run: %v", p.Annotations)
		}
		w.kubelet()
	}
	o.calm()
	p := w.pods()[0]
	if got := p.Annotations[startMark]; got == "" || got != containerStatus(&p).ContainerID {
		t.Errorf("marked %q", got)
	}
}

// TestANodeThatBeginsAnew has a kubelet that knows nothing of what it ran, and starts the
// pod again. Nobody knows how the command ended: it is over, and is not tried again.
func TestANodeThatBeginsAnew(t *testing.T) {
	lost := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: unlocated}}
	for name, anew := range map[string]corev1.ContainerStatus{
		"about to start it": {State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}, LastTerminationState: lost, RestartCount: 1},
		"has started it":    {State: goingOn, ContainerID: "test://another"},
		"has seen its end":  {State: sidecarEnded, ContainerID: "test://another"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, forever)
			w.submit(egov1.ActivitySpec{Retries: 5})
			o := w.operator()
			o.calm()
			p := w.pods()[0]
			anew.Name = kind
			p.Status.ContainerStatuses = []corev1.ContainerStatus{anew}
			w.must(w.server.Status().Update(context.Background(), &p))
			o.calm()
			if got := w.activity().Status; got.Prosta != egov1.Lost || got.Reason != commonv1.ReasonStartedTwice || got.ExitCode != nil {
				t.Errorf("status %+v", got)
			}
			if left := w.pods(); len(left) > 0 && !ended(&left[0]) {
				t.Errorf("it goes on: %+v", left[0].Status)
			}
		})
	}
}
