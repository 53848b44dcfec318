package backup

import (
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/gitopstest"
)

func TestWhatGitOpsToolsSeeOfABackup(t *testing.T) {
	type change = func(*databasev1alpha1.EtcdBackup)
	phase := func(phase commonv1.BackupPhase) change {
		return func(b *databasev1alpha1.EtcdBackup) { b.Status.Run.Phase = phase }
	}
	exists := func(b *databasev1alpha1.EtcdBackup) {
		b.Status.Last = itemNamed(testItem, true)
		b.Status.Last.Time = *timeAt(testTime)
		b.Status.LastVerified = b.Status.Last
	}
	failed := func(b *databasev1alpha1.EtcdBackup) {
		b.Status.LastFailure = &commonv1.BackupFailure{ScheduledTime: *timeAt(testTime), Reason: commonv1.ReasonBackupFailed, Message: "no"}
	}
	refused := func(b *databasev1alpha1.EtcdBackup) {
		b.Status.Run.Permanent, b.Status.Run.Message = true, "NoSuchBucket"
	}
	due := func(b *databasev1alpha1.EtcdBackup) { b.Status.Next = timeAt(testTime) }
	suspended := func(b *databasev1alpha1.EtcdBackup) { b.Spec.Suspend = true }
	held := func(b *databasev1alpha1.EtcdBackup) { b.Status.RetentionHeld = "data was lost" }
	retrying, succeeded, ended := phase(commonv1.BackupRetrying), phase(commonv1.BackupSucceeded), phase(commonv1.BackupFailed)
	for _, c := range []struct {
		name     string
		b        *databasev1alpha1.EtcdBackup
		notReady string
		want     gitopstest.Verdict
	}{
		{"a backup without schedule is about to start", newBackup(due), "", gitopstest.InProgress},
		{"a backup without schedule waits for its source", newBackup(due), "no cluster", gitopstest.InProgress},
		{"a backup without schedule is being made", running("1"), "", gitopstest.InProgress},
		{"a backup without schedule is retried", running("1", retrying), "", gitopstest.InProgress},
		{"a backup without schedule is refused, and retried", running("1", refused, retrying), "", gitopstest.InProgress},
		{"a backup without schedule is complete", running("1", succeeded, exists), "", gitopstest.Current},
		{"a backup without schedule is complete, and retention is held", running("1", succeeded, exists, held), "", gitopstest.Current},
		{"a backup without schedule failed", running("1", ended, failed), "", gitopstest.Failed},
		{"a backup without schedule is suspended", newBackup(suspended), "", gitopstest.Suspended},
		{"a backup without schedule is suspended, and its source is not there", newBackup(suspended), "no cluster", gitopstest.Suspended},
		{"a backup without schedule was suspended after its start", running("1", suspended), "", gitopstest.InProgress},
		{"a backup without schedule was suspended after its end", running("1", suspended, succeeded, exists), "", gitopstest.Current},

		{"no scheduled backup has been due", newBackup(hourly), "", gitopstest.Current},
		{"the first scheduled backup waits for its source", newBackup(hourly, due), "no cluster", gitopstest.InProgress},
		{"the first scheduled backup is being made", running("1", hourly), "", gitopstest.InProgress},
		{"the last scheduled backup is good, and another one is being made", running("1", hourly, exists), "", gitopstest.Current},
		{"the last scheduled backup is good, and another one is retried", running("1", hourly, exists, retrying), "", gitopstest.Current},
		{"the last scheduled backup is good, and the schedule is suspended", newBackup(hourly, exists, suspended), "", gitopstest.Current},
		{"the last scheduled backup failed", running("1", hourly, exists, ended, failed), "", gitopstest.Failed},
		{"the last scheduled backup failed, and another one is being made", running("1", hourly, exists, failed), "", gitopstest.InProgress},
	} {
		t.Run(c.name, func(t *testing.T) {
			ofRedis := &cachev1alpha1.RedisBackup{ObjectMeta: c.b.ObjectMeta, Status: *c.b.Status.DeepCopy()}
			ofRedis.Spec.BackupOptions = c.b.Spec.BackupOptions
			for _, b := range []Object{c.b, ofRedis} {
				s, err := parseSchedule(b.GetBackupOptions())
				if err != nil {
					t.Fatal(err)
				}
				updateStatus(b, s, nil, nil, c.notReady, testTime)
				gitopstest.Check(t, b, c.want)
			}
		})
	}
}

func TestWhatGitOpsToolsSeeOfABackupWithAScheduleThatCannotBeRead(t *testing.T) {
	b := newBackup(hourly)
	updateStatus(b, nil, &conditions.Problem{Reason: commonv1.ReasonInvalidSpec, Message: "schedule: no"}, nil, "", testTime)
	gitopstest.Check(t, b, gitopstest.Failed)
}
