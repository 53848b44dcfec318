package membership

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

func TestWhichRestoreMayStart(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	asked := func(uid types.UID, change ...func(*databasev1alpha1.EtcdRestore)) databasev1alpha1.EtcdRestore {
		r := databasev1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{UID: uid, CreationTimestamp: metav1.NewTime(now)}}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	with := func(condition string) func(*databasev1alpha1.EtcdRestore) {
		return func(r *databasev1alpha1.EtcdRestore) {
			meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
		}
	}
	deleted := func(r *databasev1alpha1.EtcdRestore) { r.DeletionTimestamp = &metav1.Time{Time: now} }
	old := func(r *databasev1alpha1.EtcdRestore) { r.CreationTimestamp = metav1.NewTime(now.AddDate(0, 0, -9)) }
	type list = []databasev1alpha1.EtcdRestore
	for _, c := range []struct {
		reason string
		asked  list // oldest first; the one with UID last was carried out last
		want   types.UID
	}{
		{"none is there", nil, ""},
		{"the last one says that it is complete", list{asked("last", with(commonv1.ConditionComplete)), asked("next")}, "next"},
		{"the last one does not say so yet: the next would take its place in the status", list{asked("last"), asked("next")}, ""},
		{"the last one is being deleted", list{asked("last", deleted), asked("next")}, "next"},
		{"the last one is gone", list{asked("next"), asked("after")}, "next"},
		{"another one has failed", list{asked("other", with(commonv1.ConditionFailed)), asked("next")}, "next"},
		{"it has started before", list{asked("started"), asked("next")}, "next"},
		{"it has started on a former EtcdCluster of the name",
			list{asked("item", func(r *databasev1alpha1.EtcdRestore) { r.Status.Item = "20260102T150405Z-89abcdef" }), asked("next")}, "next"},
		{"it is too late", list{asked("late", old), asked("next")}, "next"},
	} {
		status, got := &databasev1alpha1.EtcdClusterStatus{LastRestore: &databasev1alpha1.EtcdLastRestore{RestoreUID: "last"},
			BegunRestoreUIDs: []types.UID{"last", "started"}}, types.UID("")
		if next := NextRequest(status, c.asked, now); next != nil {
			got = next.UID
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}
