package fleet

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

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
	f := &Fleet{Cluster: e, Spec: membership.Spec{Name: "a", Size: 2}, Effects: savedEffects{}}
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

// A restore that is superseded again and again must not make the record and the permits grow without a bound.
func TestARestoreNamesABoundedNumberOfDirectories(t *testing.T) {
	e := builders.EtcdCluster("a").Build()
	e.Status.Membership = &databasev1alpha1.EtcdMembership{NamesAllData: true,
		Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", DataID: "d0"}}}
	f := &Fleet{Cluster: e, Spec: membership.Spec{Name: "a", Size: 1}, Effects: savedEffects{}}
	for n := range maxDataIDs + 1 {
		if !e.Status.Membership.NamesAllData {
			t.Fatalf("after %d restores the record has forgotten a directory", n)
		}
		restore := &databasev1alpha1.EtcdMembershipRestore{}
		if err := f.doStartRestore(t.Context(), membership.Step{Do: membership.StartRestore, Restore: restore}); err != nil {
			t.Fatal(err)
		}
	}
	record := e.Status.Membership
	if kept := record.Restore.KeptDataIDs; len(kept) != maxDataIDs || kept[0] == "d0" || record.NamesAllData {
		t.Errorf("it keeps %q, and names all: %v", kept, record.NamesAllData)
	}
}
