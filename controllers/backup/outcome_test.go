package backup

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

func TestJudge(t *testing.T) {
	unverified := func(b *databasev1alpha1.EtcdBackup) { b.Spec.Verify = ptr.To(false) }
	run := running("1").Status.Run
	item := run.Item
	written := ended(backup.CommandBackup, 0, says(backup.Result{Item: itemNamed(item, false)}))
	finished := func(result backup.Result) func(*corev1.Pod) { return ended(mainContainer, 0, says(result)) }
	kubelet := func(reason, message string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, reason, message
		}
	}
	failed := func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }
	for _, c := range []struct {
		reason    string
		b         *databasev1alpha1.EtcdBackup
		pod       func(*corev1.Pod)
		more      func(*corev1.Pod)
		gone      bool
		says      string // "": success
		permanent bool
		cleared   bool
	}{
		{reason: "all well", pod: allWell, cleared: true},
		{reason: "all well, but what earlier attempts left is not deleted", pod: func(pod *corev1.Pod) {
			allWell(pod)
			pod.Status.InitContainerStatuses[1].State.Terminated.Message = says(backup.Result{Item: itemNamed(item, false), Warning: "AccessDenied"})
		}},
		{reason: "not verified, as asked for", b: running("1", unverified), pod: allWell, cleared: true},
		{reason: "the pod is gone", gone: true, says: "is gone"},
		{reason: "the pod was never created", b: running(""), gone: true, says: "could not be created in time"},
		{reason: "the store refuses", pod: ended(backup.CommandBackup, 1, says(backup.Result{Error: "NoSuchBucket: b", Permanent: true})),
			says: "backup: NoSuchBucket: b", permanent: true},
		{reason: "the store stumbles", pod: ended(backup.CommandBackup, 1, says(backup.Result{Error: "500 SlowDown"})),
			says: "backup: 500 SlowDown"},
		{reason: "the backup cannot be loaded", pod: written, more: ended(backup.CommandVerify, 1, says(backup.Result{Error: "3 keys of 4"})),
			says: "verify: 3 keys of 4", cleared: true},
		{reason: "out of memory", pod: written, more: func(pod *corev1.Pod) {
			ended(backup.CommandVerify, 137, "")(pod)
			pod.Status.InitContainerStatuses[1].State.Terminated.Reason = "OOMKilled"
		}, says: "verify: exit code 137 (OOMKilled): no message", cleared: true},
		{reason: "a panic", pod: ended(backup.CommandBackup, 2, "panic: nil\ngoroutine 1"),
			says: "backup: exit code 2 (Error): panic: nil?goroutine 1"},
		{reason: "the pod was evicted", pod: ended(backup.CommandBackup, 1, says(backup.Result{Error: "signal"})),
			more: kubelet("Evicted", "no disk"), says: "Evicted: no disk"},
		{reason: "the pod was deleted while it ran", pod: ended(backup.CommandBackup, 143, ""), more: deleting, says: "deleted while it ran"},
		{reason: "the pod was deleted before it ran", pod: deleting, says: "deleted before it ran"},
		{reason: "lost with its node", pod: deleting, more: func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sidecar",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}, says: "its node has not confirmed"},
		{reason: "the end is unknown", pod: failed, says: "the kubelet does not know how"},
		{reason: "stopped, as it was too late", b: running("1", func(b *databasev1alpha1.EtcdBackup) {
			b.Status.Run.Stopped = true
			b.Status.Run.Message = lateMessage(&b.Spec.BackupOptions, podOf(b, "1", func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
					Reason: corev1.PodReasonUnschedulable, Message: "no node"}}
			}))
		}), pod: deleting, says: "within startingDeadline 1h0m0s: pod nightly-" + item[17:] + ": cannot be scheduled: no node"},

		{reason: "finish reports nothing", pod: written, more: ended(mainContainer, 0, ""), says: "did not report the backup", cleared: true},
		{reason: "finish reports another item", pod: written, more: finished(backup.Result{Item: itemNamed(testItem, true)}),
			says: "did not report the backup", cleared: true},
		{reason: "finish did not verify", pod: written, more: finished(backup.Result{Item: itemNamed(item, false)}),
			says: "did not report the backup as verified", cleared: true},
		{reason: "verify reports nothing", pod: written, more: func(pod *corev1.Pod) {
			ended(backup.CommandVerify, 0, "")(pod)
			finished(backup.Result{Item: itemNamed(item, true)})(pod)
		}, says: "did not report the backup as verified", cleared: true},
		{reason: "verify speaks of another item", pod: written, more: func(pod *corev1.Pod) {
			ended(backup.CommandVerify, 0, says(backup.Result{Item: itemNamed(testItem, true)}))(pod)
			finished(backup.Result{Item: itemNamed(item, true)})(pod)
		}, says: "did not report the backup as verified", cleared: true},
		{reason: "verify did not end well, and finish ran", pod: written, more: func(pod *corev1.Pod) {
			ended(backup.CommandVerify, 1, says(backup.Result{Item: itemNamed(item, true)}))(pod)
			finished(backup.Result{Item: itemNamed(item, true)})(pod)
		}, says: "did not report the backup as verified", cleared: true},
		{reason: "finish reports an error and succeeds", pod: written, more: finished(backup.Result{Item: itemNamed(item, true), Error: "odd"}),
			says: "odd", cleared: true},
		{reason: "finish fails", pod: written, more: ended(mainContainer, 1, says(backup.Result{Error: "AccessDenied", Permanent: true})),
			says: "finish: AccessDenied", permanent: true, cleared: true},
	} {
		b := c.b
		if b == nil {
			b = running("1")
		}
		var pod *corev1.Pod
		if !c.gone {
			pod = podOf(b, "1", c.pod)
			if c.more != nil {
				c.more(pod)
			}
		}
		got := judge(b.Status.Run, pod, "")
		if c.says == "" != (got.failure == "") || !strings.Contains(got.failure, c.says) || got.permanent != c.permanent ||
			got.cleared != c.cleared {
			t.Errorf("%s: %+v", c.reason, got)
		}
		if c.says == "" && (got.item.Name != item || len(got.items) != 1) {
			t.Errorf("%s: %+v", c.reason, got)
		}
	}
}

// Anyone who writes into the pod writes the message.
func TestHostileMessages(t *testing.T) {
	run := running("1").Status.Run
	good := *itemNamed(run.Item, true)
	with := func(change func(*commonv1.BackupItem)) backup.Result {
		item := good
		change(&item)
		return backup.Result{Item: &item}
	}
	many := make([]commonv1.BackupItem, 0, 12)
	for _, name := range []string{"20300102T030405Z-00000000", "../../etc", "20300102T030405Z-00000001", "20300102T030405Z-00000001",
		"20300199T030405Z-00000002"} {
		many = append(many, *itemNamed(name, false))
	}
	for _, c := range []struct {
		reason, message string
		items           int // 0: it failed
	}{
		{"well", says(backup.Result{Item: &good}), 1},
		{"invalid names, and twice the same", says(backup.Result{Item: &good, Items: many}), 3},
		{"too long", says(backup.Result{Item: &good}) + strings.Repeat(" ", backup.MaxResult), 0},
		{"no JSON", "{", 0},
		{"another type", `{"item":[]}`, 0},
		{"deep", strings.Repeat("[", backup.MaxResult), 0},
		{"a size below 0", says(with(func(i *commonv1.BackupItem) { i.Size = -1 })), 0},
		{"a revision below 0", says(with(func(i *commonv1.BackupItem) { i.Revision = -1 })), 0},
		{"an offset below 0", says(with(func(i *commonv1.BackupItem) { i.Offset = -1 })), 0},
		{"a short sum", says(with(func(i *commonv1.BackupItem) { i.SHA256 = "ab" })), 0},
		{"a sum of something else", says(with(func(i *commonv1.BackupItem) { i.SHA256 = strings.Repeat("x", 64) })), 0},
		{"an invalid name", says(with(func(i *commonv1.BackupItem) { i.Name = "a" })), 0},
		{"another time than its name's", says(with(func(i *commonv1.BackupItem) { i.Time = *timeAt(testTime.AddDate(9, 0, 0)) })), 1},
		{"a long version", says(with(func(i *commonv1.BackupItem) { i.ServerVersion = strings.Repeat("9\x00", 90) })), 1},
	} {
		pod := podOf(running("1"), "1", ended(backup.CommandVerify, 0, says(backup.Result{Item: &good})))
		ended(backup.CommandBackup, 0, says(backup.Result{Item: &good}))(pod)
		ended(backup.CommandFetch, 0, says(backup.Result{Item: &good}))(pod)
		ended(mainContainer, 0, c.message)(pod)
		got := judge(run, pod, "")
		if (c.items == 0) != (got.failure != "") || len(got.items) != c.items {
			t.Errorf("%s: %+v", c.reason, got)
			continue
		}
		if c.items > 0 && (!got.item.Time.Equal(timeAt(testTime)) || len(got.item.ServerVersion) > 40 ||
			strings.Contains(got.item.ServerVersion, "\x00")) {
			t.Errorf("%s: %+v", c.reason, got.item)
		}
	}
	words := strings.Repeat("\x1b[31m", 300)
	got := judge(run, podOf(running("1"), "1", ended(backup.CommandBackup, 1, says(backup.Result{Error: words[:900]}))), "")
	if len(got.failure) > 300 || strings.Contains(got.failure, "\x1b") {
		t.Errorf("%d bytes: %q", len(got.failure), got.failure)
	}
}

func TestNoteOutcome(t *testing.T) {
	good := *itemNamed(testItem, true)
	earlier := &commonv1.BackupFailure{ScheduledTime: *timeAt(testTime.Add(-time.Hour)), Reason: commonv1.ReasonBackupFailed,
		Message: "earlier"}
	later := &commonv1.BackupFailure{ScheduledTime: *timeAt(testTime.Add(time.Hour)), Reason: commonv1.ReasonBackupMissed, Message: "later"}
	for _, c := range []struct {
		reason    string
		o         outcome
		failure   *commonv1.BackupFailure
		now       time.Time
		phase     commonv1.BackupPhase
		says      string // in the failure; "": none
		leftovers int
	}{
		{"success", outcome{item: good, items: []commonv1.BackupItem{good}, cleared: true}, nil, testTime, commonv1.BackupSucceeded, "", 0},
		{"success after a failure", outcome{item: good, cleared: true}, earlier, testTime, commonv1.BackupSucceeded, "", 0},
		{"success, and a later one was missed", outcome{item: good, cleared: true}, later, testTime, commonv1.BackupSucceeded, "later", 0},
		{"a failure", outcome{failure: "no"}, nil, testTime, commonv1.BackupRetrying, "", 1},
		{"a failure after others are deleted", outcome{failure: "no", cleared: true}, earlier, testTime, commonv1.BackupRetrying, "earlier", 0},
		{"the last failure", outcome{failure: "no"}, nil, testTime.Add(defaultDeadline - time.Second), commonv1.BackupFailed,
			"failed after 1 attempt(s): no", 1},
		{"the backup was replaced", outcome{failure: "no", permanent: true, final: true}, nil, testTime, commonv1.BackupFailed,
			"failed after 1 attempt(s): no", 1},
		{"refused, and no time is left", outcome{failure: "no", permanent: true}, earlier, testTime.Add(defaultDeadline - maxBackoff),
			commonv1.BackupFailed, "failed after 1 attempt(s): no", 1},
		{"the last failure, and a later one was missed", outcome{failure: "no"}, later, testTime.Add(defaultDeadline), commonv1.BackupFailed,
			"later", 1},
	} {
		b := running("1")
		b.Status.Run.Leftovers, b.Status.LastFailure = []string{testItem}, c.failure.DeepCopy()
		noteOutcome(b, c.o, c.now)
		equal(t, c.reason, b.Status.Run.Phase, c.phase)
		equal(t, c.reason, len(b.Status.Run.Leftovers), c.leftovers)
		if failure := b.Status.LastFailure; (failure == nil) != (c.says == "") || failure != nil && !strings.Contains(failure.Message, c.says) {
			t.Errorf("%s: %+v", c.reason, failure)
		}
		equal(t, c.reason, b.Status.LastVerified != nil, c.phase == commonv1.BackupSucceeded)
	}
}
