package etcd

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// The first member of a restore that is superseded may have run, and no one has seen it: what it has is kept as all else is.
func TestASupersededRestoreKeepsItsData(t *testing.T) {
	e := builders.EtcdCluster("a").Build()
	e.Status.Membership = &databasev1alpha1.EtcdMembership{FormerDataIDs: []string{"d9"}, Members: []databasev1alpha1.EtcdRecordedMember{
		{Name: "a-0", DataID: "d0"}, {Name: "a-1", DataID: "d1"},
	}}
	f := &fleet{cluster: e, spec: membership.Spec{Name: "a", Size: 2}, effects: savedEffects{}}
	for _, c := range []struct {
		request       types.UID
		dropped, kept string
	}{
		{"first", "[d9]", "[d0 d1]"},
		{"second", "[d9]", "[d0 d1 id]"}, // id: what the first member of the restore before has
		{"third", "[d9]", "[d0 d1 id id]"},
	} {
		restore := &databasev1alpha1.EtcdMembershipRestore{RestoreUID: c.request}
		if err := f.doStartRestore(t.Context(), membership.Step{Do: membership.StartRestore, Source: c.request, Restore: restore}); err != nil {
			t.Fatal(err)
		}
		record := e.Status.Membership
		if dropped, kept := fmt.Sprint(record.FormerDataIDs), fmt.Sprint(record.Restore.KeptDataIDs); dropped != c.dropped || kept != c.kept {
			t.Errorf("%s: the first member drops %s and keeps %s", c.request, dropped, kept)
		}
	}
}

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
		asked  list // the first of which was carried out last
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
		e := builders.EtcdCluster("a").Build()
		e.Status.LastRestore = &databasev1alpha1.EtcdLastRestore{RestoreUID: "last"}
		e.Status.BegunRestoreUIDs = []types.UID{"last", "started"}
		p, got := passAt(now, &fleet{cluster: e}), types.UID("")
		p.in.requests = c.asked
		p.observeRestores()
		if p.Request != nil {
			got = p.Request.UID
		}
		if got != c.want {
			t.Errorf("%s: %q starts, and not %q", c.reason, got, c.want)
		}
	}
}
