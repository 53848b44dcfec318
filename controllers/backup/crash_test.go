package backup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"
)

var (
	storeStumbles = ended(backup.CommandBackup, 1, says(backup.Result{Error: "500 SlowDown"}))
	storeRefuses  = ended(backup.CommandBackup, 1, says(backup.Result{Error: "NoSuchBucket", Permanent: true}))
)

func hangs(pod *corev1.Pod) {
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: backup.CommandBackup,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
}

func neverStarts(*corev1.Pod) {}

// scenario is the life of one object.
type scenario struct {
	change func(*databasev1alpha1.EtcdBackup)
	ends   []func(*corev1.Pod)
	absent bool // what it backs up
	// intervene happens once, after some passes.
	intervene func(w *fakeCluster)
	lasts     time.Duration
	phase     commonv1.BackupPhase // of the last run; "": there was none
	// attempts that the kubelet may have started: a pod that an operator lost sight of makes one more.
	attempts  int
	missed    int64
	condition string // that is True in the end
	reason    string
	message   string
}

func hourly(b *databasev1alpha1.EtcdBackup) { b.Spec.Schedule = "0 * * * *" }

func quickly(b *databasev1alpha1.EtcdBackup) {
	b.Spec.StartingDeadline = &metav1.Duration{Duration: 7 * time.Minute}
}

var scenarios = map[string]scenario{
	"once": {ends: []func(*corev1.Pod){allWell}, phase: commonv1.BackupSucceeded, attempts: 1, condition: "Complete",
		reason: "BackupVerified"},
	"a retry": {ends: []func(*corev1.Pod){storeStumbles, allWell}, phase: commonv1.BackupSucceeded, attempts: 2, condition: "Ready",
		reason: "BackupVerified"},
	"refused": {change: quickly, ends: []func(*corev1.Pod){storeRefuses}, phase: commonv1.BackupFailed, attempts: 2,
		condition: "Failed", reason: "BackupFailed", message: "NoSuchBucket"},
	"never starts": {ends: []func(*corev1.Pod){neverStarts}, phase: commonv1.BackupFailed, attempts: 1, condition: "Degraded",
		reason: "BackupFailed", message: "it did not start within startingDeadline"},
	"nothing to read": {absent: true, missed: 1, condition: "Failed", reason: "BackupMissed", message: "there is no cluster"},
	"nothing to read at first": {absent: true, intervene: func(w *fakeCluster) { w.absent = false }, ends: []func(*corev1.Pod){allWell},
		phase: commonv1.BackupSucceeded, attempts: 1, condition: "Complete", reason: "BackupVerified"},
	"suspended": {change: func(b *databasev1alpha1.EtcdBackup) { b.Spec.Suspend = true }, condition: "Suspended", reason: "SpecSuspended"},
	"resumed": {change: func(b *databasev1alpha1.EtcdBackup) { b.Spec.Suspend = true }, intervene: func(w *fakeCluster) {
		b := w.backup()
		b.Spec.Suspend, w.now = false, w.now.Add(9*time.Hour)
		w.must(w.server.Update(context.Background(), b))
	}, lasts: 11 * time.Hour, ends: []func(*corev1.Pod){allWell}, phase: commonv1.BackupSucceeded, attempts: 1, condition: "Complete",
		reason: "BackupVerified"},
	"by schedule": {change: hourly, lasts: 3 * time.Hour, ends: []func(*corev1.Pod){allWell}, phase: commonv1.BackupSucceeded, attempts: 3,
		condition: "Ready", reason: "BackupVerified"},
	"overlapping": {change: hourly, lasts: 3 * time.Hour, ends: []func(*corev1.Pod){hangs}, phase: commonv1.BackupRunning, attempts: 1,
		missed:    2,
		condition: "Degraded", reason: "BackupMissed", message: "still under way"},
	"its pod is deleted": {ends: []func(*corev1.Pod){hangs, allWell}, intervene: func(w *fakeCluster) {
		for _, p := range w.pods() {
			w.must(w.server.Delete(context.Background(), &p))
		}
	}, phase: commonv1.BackupSucceeded, attempts: 2, condition: "Complete", reason: "BackupVerified"},
	"deleted": {ends: []func(*corev1.Pod){hangs},
		intervene: func(w *fakeCluster) { w.must(w.server.Delete(context.Background(), w.backup())) }, attempts: 1},
}

// play plays the scenario with that crash.
func (s scenario) play(t *testing.T, crash *oncetest.Crash) *fakeCluster {
	t.Helper()
	w := newFakeCluster(t, s.ends...)
	w.absent = s.absent
	b := newBackup()
	if s.change != nil {
		s.change(b)
	}
	w.must(w.server.Create(context.Background(), b))
	end := testTime.Add(max(s.lasts, 2*time.Hour))
	for pass := range 10 {
		if pass == 5 && s.intervene != nil {
			s.intervene(w)
		}
		o := w.operator() // a new process each time: nothing may live in memory only
		crash.Attach(&o.intercept)
		_, _ = o.pass()
		w.kubelet()
	}
	w.operator().runUntil(end)
	s.check(w)
	w.checkNothingIsReportedTwice()
	return w
}

func (s scenario) check(w *fakeCluster) {
	w.t.Helper()
	b := w.backup()
	w.checkNothingIsLeft(b)
	if len(w.ran) > s.attempts+1 || s.attempts > 0 && len(w.ran) == 0 {
		w.t.Errorf("%d pods ran: %v", len(w.ran), w.ran)
	}
	if b == nil {
		return
	}
	phase := commonv1.BackupPhase("")
	if b.Status.Run != nil {
		phase = b.Status.Run.Phase
	}
	equal(w.t, "phase", phase, s.phase)
	equal(w.t, "missed", b.Status.Missed, s.missed)
	c := meta.FindStatusCondition(b.Status.Conditions, s.condition)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != s.reason || !strings.Contains(c.Message, s.message) {
		w.t.Errorf("%+v, want %s for %s: %s", b.Status.Conditions, s.condition, s.reason, s.message)
	}
	if last := b.Status.Last; (last != nil) != slices.Contains([]string{"Complete", "Ready"}, s.condition) || last != nil &&
		last.Name != b.Status.Run.Item {
		w.t.Errorf("last %+v", last)
	}
}

// checkNothingIsLeft sees that there is no pod but that of the attempt under way.
func (f *fakeCluster) checkNothingIsLeft(b *databasev1alpha1.EtcdBackup) {
	f.t.Helper()
	for _, p := range f.pods() {
		if b == nil || b.Status.Run == nil || p.UID != b.Status.Run.PodUID || b.Status.Run.Phase != commonv1.BackupRunning {
			f.t.Errorf("pod %s is left", p.Name)
		}
	}
}

// TestCrash has each call of each scenario go wrong in each way.
func TestCrash(t *testing.T) {
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.play(t, &oncetest.Crash{})
			oncetest.EachCall(t, 0, 1, func(t *testing.T, crash *oncetest.Crash) { s.play(t, crash) })
		})
	}
}

// TestEachWriteHasAName : no two attempts write under the same name, and each deletes what those before it have left.
func TestEachWriteHasAName(t *testing.T) {
	w := newFakeCluster(t, storeStumbles, storeStumbles, ended(backup.CommandVerify, 1, ""), allWell)
	var items []string
	w.ends[2] = func(pod *corev1.Pod) {
		ended(backup.CommandBackup, 0, says(backup.Result{Item: itemNamed(testItem, false)}))(pod)
		ended(backup.CommandVerify, 1, "")(pod)
	}
	leftovers := map[string][]string{}
	b := newBackup()
	w.must(w.server.Create(context.Background(), b))
	o := w.operator()
	for range 60 {
		o.sync()
		result, _ := o.pass()
		w.kubelet()
		if run := w.backup().Status.Run; run != nil && !slices.Contains(items, run.Item) {
			items = append(items, run.Item)
			leftovers[run.Item] = run.Leftovers
		}
		w.now = w.now.Add(min(result.RequeueAfter, time.Minute))
	}
	if len(items) != 4 || len(leftovers[items[0]]) != 0 || !slices.Equal(leftovers[items[1]], items[:1]) ||
		!slices.Equal(leftovers[items[2]], items[:2]) ||
		!slices.Equal(leftovers[items[3]], items[2:3]) {
		t.Errorf("%v: %v", items, leftovers)
	}
}

// TestStaleCache : a cache that lags makes no second pod, and has none deleted that works.
func TestStaleCache(t *testing.T) {
	w := newFakeCluster(t, hangs)
	w.must(w.server.Create(context.Background(), newBackup()))
	old := w.operator()
	w.operator().runUntil(testTime)
	if len(w.pods()) != 1 || once.IsGated(&w.pods()[0]) {
		t.Fatal(w.pods())
	}
	at := w.versions()
	for range 3 { // it sees the object as it was made, with or without the pod
		_, _ = old.pass()
		old.cache.pods = w.pods()
	}
	equal(t, "stale", w.versions(), at)
}

// The pod of a backup deletes the backups that the spec does not keep, and an older spec may keep fewer.
func TestAnOlderBackupMakesNoPod(t *testing.T) {
	w := newFakeCluster(t, hangs)
	w.must(w.server.Create(context.Background(), newBackup()))
	o := w.operator()
	o.intercept = func(call string, do func() error) error {
		if strings.HasPrefix(call, "create ") {
			return errors.New("no reply")
		}
		return do()
	}
	_, _ = o.pass() // it saves the attempt
	o = w.operator()
	b := w.backup()
	b.Labels = map[string]string{"edited": "since"}
	w.must(w.server.Update(context.Background(), b))
	if _, err := o.pass(); err != nil || len(w.pods()) != 0 || b.Status.Run == nil {
		t.Errorf("%d pods, run %v, error: %v", len(w.pods()), b.Status.Run, err)
	}
	o.sync()
	if _, err := o.pass(); err != nil || len(w.pods()) != 1 {
		t.Errorf("by the newest object %d pods, error: %v", len(w.pods()), err)
	}
}

// TestQuiet : nothing is sent at rest.
func TestQuiet(t *testing.T) {
	for name, s := range scenarios {
		if s.intervene != nil {
			continue
		}
		w := newFakeCluster(t, s.ends...)
		w.absent = s.absent
		b := newBackup()
		if s.change != nil {
			s.change(b)
		}
		w.must(w.server.Create(context.Background(), b))
		w.operator().runUntil(testTime.Add(2 * time.Hour))
		o := w.operator()
		o.intercept = func(call string, do func() error) error {
			t.Errorf("%s: %s", name, call)
			return do()
		}
		if _, err := o.pass(); err != nil {
			t.Error(name, err)
		}
	}
}

// TestAnInvalidScheduleIsReportedOnce : the condition does not turn within a pass, so there is one event; and what runs continues.
func TestAnInvalidScheduleIsReportedOnce(t *testing.T) {
	w := newFakeCluster(t, allWell)
	b := newBackup(hourly)
	w.must(w.server.Create(context.Background(), b))
	o := w.operator()
	w.now = testTime.Add(time.Hour)
	o.sync()
	if _, err := o.pass(); err != nil || len(w.pods()) != 1 {
		t.Fatal(err, w.pods())
	}
	b = w.backup()
	b.Spec.Schedule = "soon"
	w.must(w.server.Update(context.Background(), b))
	reported := events.NewFakeRecorder(100)
	o.Events = reported
	for range 10 {
		o.sync()
		_, _ = o.pass()
		w.kubelet()
	}
	close(reported.Events)
	turned := 0
	for event := range reported.Events {
		if strings.Contains(event, "InvalidSpec") && strings.Contains(event, "Degraded is True") {
			turned++
		}
	}
	b = w.backup()
	if turned != 1 || b.Status.Run.Phase != commonv1.BackupSucceeded || b.Status.Next != nil ||
		!meta.IsStatusConditionTrue(b.Status.Conditions, "Degraded") {
		t.Errorf("reported %d times: %+v", turned, b.Status)
	}
}

// TestStranger : a pod of the attempt's name that is not ours is not touched, is named in a condition, and its end heals.
func TestStranger(t *testing.T) {
	w := newFakeCluster(t, allWell)
	w.must(w.server.Create(context.Background(), newBackup()))
	o := w.operator()
	o.intercept = func(call string, do func() error) error {
		if call == "create *v1.Pod" {
			o.intercept.Kill()
			return oncetest.ErrKilled
		}
		return do()
	}
	_, _ = o.pass()
	name := w.backup().Status.Run.PodName
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}}
	stranger.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: once.Gate}}
	w.must(w.server.Create(context.Background(), stranger))
	o = w.operator()
	if _, err := o.pass(); err == nil || !strings.Contains(err.Error(), "belongs to somebody else") {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(w.backup().Status.Conditions, commonv1.ConditionDegraded); c == nil ||
		c.Reason != commonv1.ReasonNameConflict {
		t.Errorf("%+v", w.backup().Status.Conditions)
	}
	if left := w.pods(); len(left) != 1 || left[0].ResourceVersion != stranger.ResourceVersion {
		t.Errorf("%+v", left)
	}
	w.must(w.server.Delete(context.Background(), stranger))
	o.runUntil(testTime)
	if b := w.backup(); b.Status.Run.Phase != commonv1.BackupSucceeded || b.Status.Run.PodName != name {
		t.Errorf("%+v", b.Status)
	}
}
