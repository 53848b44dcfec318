package backup

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

func TestNextStep(t *testing.T) {
	soon, late := testTime.Add(time.Minute), testTime.Add(defaultDeadline)
	gated := func(pod *corev1.Pod) {
		pod.Spec.SchedulingGates, pod.Spec.NodeName = []corev1.PodSchedulingGate{{Name: once.Gate}}, ""
	}
	works := func(pod *corev1.Pod) {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: backup.CommandBackup,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	}
	due := func(b *databasev1alpha1.EtcdBackup) { b.Status.Next = timeAt(testTime) }
	suspended := func(b *databasev1alpha1.EtcdBackup) { b.Spec.Suspend = true }
	retrying := func(b *databasev1alpha1.EtcdBackup) {
		b.Status.Run.Phase, b.Status.Run.FinishTime = commonv1.BackupRetrying, timeAt(testTime)
	}
	permanent := func(b *databasev1alpha1.EtcdBackup) { b.Status.Run.Permanent = true }
	succeeded := func(b *databasev1alpha1.EtcdBackup) { b.Status.Run.Phase = commonv1.BackupSucceeded }
	pod := func(change ...func(*corev1.Pod)) *corev1.Pod { return podOf(running("1"), "1", change...) }
	sidecar := func(pod *corev1.Pod) {
		ended(mainContainer, 0, "")(pod)
		pod.Status.Phase = corev1.PodRunning
	}
	stranger := func(pod *corev1.Pod) { pod.OwnerReferences = nil }

	for _, c := range []struct {
		reason  string
		b       *databasev1alpha1.EtcdBackup
		pod     *corev1.Pod
		unready bool
		now     time.Time
		want    once.Step
	}{
		{"nothing is due", newBackup(), nil, false, soon, once.Wait},
		{"due later", newBackup(due), nil, false, testTime.Add(-time.Second), once.Wait},
		{"due", newBackup(due), nil, false, soon, stepNewRun},
		{"due, and no source", newBackup(due), nil, true, soon, once.Wait},
		{"due and suspended", newBackup(due, suspended), nil, false, soon, once.Wait},
		{"due after the last one", running("1", succeeded, due), nil, false, soon, stepNewRun},

		{"journaled", running(""), nil, false, soon, once.Create},
		{"journaled, and the source went", running(""), nil, true, soon, once.Wait},
		{"journaled, then suspended", running("", suspended), nil, false, soon, once.Wait},
		{"journaled, and too late", running(""), nil, false, late, once.Save},
		{"created", running(""), pod(gated), false, soon, once.JournalUID},
		{"created and too late", running(""), pod(gated), false, late, once.Save},
		{"created, and being deleted", running(""), pod(gated, deleting), false, soon, once.Wait},
		{"a pod without gate has the name", running(""), pod(), false, soon, once.Refuse},
		{"somebody else's pod has the name", running(""), pod(gated, stranger), false, soon, once.Refuse},

		{"adopted", running("1"), pod(gated), false, soon, once.Start},
		{"adopted, then suspended", running("1", suspended), pod(gated), false, soon, once.Wait},
		{"suspended for too long", running("1", suspended), pod(gated), false, late, once.Stop},
		{"waits for its node", running("1"), pod(), false, soon, once.Wait},
		{"waited too long", running("1"), pod(), false, late, once.Stop},
		{"stopped", running("1"), pod(deleting), false, testTime.Add(lostAfter), once.Wait},
		{"works", running("1"), pod(works), false, soon, once.Wait},
		{"works, however long", running("1"), pod(works), false, late.Add(9 * time.Hour), once.Wait},
		{"works, though suspended", running("1", suspended), pod(works), false, soon, once.Wait},
		{"is done", running("1"), pod(allWell), false, soon, once.Save},
		{"is done, and a container of another owner still runs", running("1"), pod(sidecar), false, soon, once.Save},
		{"failed", running("1"), pod(ended(backup.CommandBackup, 1, "")), false, soon, once.Save},
		{"is gone", running("1"), nil, false, soon, once.Save},
		{"is another one now", running("1"), podOf(running("1"), "2"), false, soon, once.Save},
		{"deleted before it had a node", running("1"), pod(gated, deleting), false, soon, once.Save},
		{"deleted, and its node is silent", running("1"), pod(works, deleting), false, testTime.Add(lostAfter), once.Wait},
		{"deleted, and its node has been silent", running("1"), pod(works, deleting), false, testTime.Add(lostAfter + time.Second), once.Save},

		{"backs off", running("1", retrying), nil, false, testTime.Add(minBackoff - time.Second), once.Wait},
		{"has backed off", running("1", retrying), nil, false, testTime.Add(minBackoff), stepRetry},
		{"refused: backs off for longer", running("1", retrying, permanent), nil, false, testTime.Add(maxBackoff - time.Second), once.Wait},
		{"refused: has backed off", running("1", retrying, permanent), nil, false, testTime.Add(maxBackoff), stepRetry},
		{"the clock went back while it backs off", running("1", retrying), nil, false, testTime.Add(-2 * time.Hour), stepRetry},
		{"has backed off, and no source", running("1", retrying), nil, true, soon, once.Wait},
		{"has backed off, and is suspended", running("1", retrying, suspended), nil, false, soon, once.Wait},
		{"no time is left", running("1", retrying), nil, false, late, stepGiveUp},
		{"no time is left, and no source", running("1", retrying), nil, true, late, stepGiveUp},
	} {
		equal(t, c.reason, nextStep(c.b, c.pod, !c.unready, c.now), c.want)
	}
}

func TestRetryTime(t *testing.T) {
	for attempt, want := range map[int32]time.Duration{
		-7: 10 * time.Second, 0: 10 * time.Second, 1: 10 * time.Second, 2: 20 * time.Second, 3: 40 * time.Second, 4: 80 * time.Second,
		5: 160 * time.Second,
		6: 5 * time.Minute, 7: 5 * time.Minute, 400: 5 * time.Minute,
	} {
		run := &commonv1.BackupRun{Attempt: attempt, FinishTime: timeAt(testTime)}
		equal(t, "after attempt", retryTime(run, testTime).Sub(testTime), want)
		run.Permanent = true
		equal(t, "refused", retryTime(run, testTime).Sub(testTime), maxBackoff)
	}
}

func TestNeedsNoPod(t *testing.T) {
	ended := func(b *databasev1alpha1.EtcdBackup) { b.Status.Run.Phase = commonv1.BackupRetrying }
	pod := podOf(running("1"), "1")
	for _, c := range []struct {
		reason string
		b      *databasev1alpha1.EtcdBackup
		pod    *corev1.Pod
		want   bool
	}{
		{"of the attempt under way", running("1"), pod, false},
		{"of the attempt that is journaled", running(""), pod, false},
		{"of an attempt that has ended", running("1", ended), pod, true},
		{"made once too often", running("2"), pod, true},
		{"of no attempt", newBackup(), pod, true},
		{"being deleted", newBackup(), podOf(running("1"), "1", deleting), false},
		{"somebody else's", newBackup(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}, false},
	} {
		equal(t, c.reason, isObsolete(c.b, c.pod), c.want)
	}
}

func TestRequeueAfter(t *testing.T) {
	for _, c := range []struct {
		reason string
		b      *databasev1alpha1.EtcdBackup
		pod    *corev1.Pod
		want   time.Duration
	}{
		{"nothing", newBackup(), nil, 0},
		{"due later", newBackup(func(b *databasev1alpha1.EtcdBackup) { b.Status.Next = timeAt(testTime.Add(time.Hour)) }), nil, time.Hour},
		{"waits for its source", newBackup(func(b *databasev1alpha1.EtcdBackup) { b.Status.Next = timeAt(testTime) }), nil, defaultDeadline},
		{"becomes too old", newBackup(hourly), nil, 1*time.Hour + 55*time.Minute + 55*time.Second}, // at 05:00:00
		{"runs", running("1"), nil, defaultDeadline},
		{"backs off", running("1", func(b *databasev1alpha1.EtcdBackup) {
			b.Status.Run.Phase, b.Status.Run.FinishTime = commonv1.BackupRetrying, timeAt(testTime)
		}), nil, minBackoff},
		{"is being deleted", running("1"), podOf(running("1"), "1", deleting), lostAfter + time.Second},
	} {
		equal(t, c.reason, requeueAfter(c.b, mustParse(t, c.b.Spec.Schedule, ""), c.pod, testTime), c.want)
	}
}
