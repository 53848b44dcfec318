package children

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

func TestWhatABackupSays(t *testing.T) {
	is := func(conditionType, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Message: message}
	}
	for _, c := range []struct {
		name   string
		change func(*databasev1alpha1.EtcdBackup)
		want   membership.Backup
	}{
		{"by a schedule", func(*databasev1alpha1.EtcdBackup) {}, membership.Backup{Scheduled: true}},
		{"not while it is suspended", func(b *databasev1alpha1.EtcdBackup) { b.Spec.Suspend = true }, membership.Backup{}},
		{"not while it goes", func(b *databasev1alpha1.EtcdBackup) { b.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
			membership.Backup{Deleting: true}},
		{"not of another cluster", func(b *databasev1alpha1.EtcdBackup) { b.Spec.ClusterName = "b" }, membership.Backup{}},
		{"made once", func(b *databasev1alpha1.EtcdBackup) { b.Spec.Schedule = "" }, membership.Backup{}},
		{"under way", func(b *databasev1alpha1.EtcdBackup) {
			b.Status.Conditions = []metav1.Condition{is(commonv1.ConditionProgressing, "attempt 1")}
		}, membership.Backup{Scheduled: true, Progress: "attempt 1"}},
		{"refused, and tried again", func(b *databasev1alpha1.EtcdBackup) {
			b.Status.Conditions = []metav1.Condition{is(commonv1.ConditionProgressing, "attempt 2"), is(commonv1.ConditionDegraded, "AccessDenied")}
		}, membership.Backup{Scheduled: true, Progress: "attempt 2", Problem: "AccessDenied"}},
		{"complete", func(b *databasev1alpha1.EtcdBackup) {
			b.Status.Conditions = []metav1.Condition{is(commonv1.ConditionComplete, "")}
		}, membership.Backup{Scheduled: true, Complete: true}},
		{"not complete, as one that has failed", func(b *databasev1alpha1.EtcdBackup) {
			b.Status.Conditions = []metav1.Condition{{Type: commonv1.ConditionComplete, Status: metav1.ConditionFalse},
				is(commonv1.ConditionFailed, "AccessDenied"), is(commonv1.ConditionDegraded, "AccessDenied")}
		}, membership.Backup{Scheduled: true, Problem: "AccessDenied"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := fixture.Nightly()
			c.change(b)
			if c.want.UID, c.want.Name = "nightly", "nightly"; c.want.Progress == "" {
				c.want.Progress = "it is about to start"
			}
			if got := ReadBackup(builders.EtcdCluster("a").In("ns").Build(), b); got != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
