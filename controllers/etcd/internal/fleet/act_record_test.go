package fleet

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// The launcher refuses to start next to data that the record does not name.
func TestTheRecordNamesAllData(t *testing.T) {
	recovery := membership.Step{Do: membership.Recover, Member: "a-0"}
	for _, c := range []struct {
		name         string
		before       *databasev1alpha1.EtcdMembership // with members d0 and d1
		act          func(*Fleet)
		former, kept string
		all          bool
	}{
		{"the first record names all", nil, func(f *Fleet) { f.recordForming(membership.Step{}) }, "[]", "[]", true},
		{"a record of an earlier release does not name all",
			&databasev1alpha1.EtcdMembership{}, func(f *Fleet) { f.recordForming(membership.Step{}) },
			"[]", "[d0 d1]", false},
		{"a cluster that is formed again drops who has no data, and keeps the rest",
			&databasev1alpha1.EtcdMembership{NamesAllData: true, FormerDataIDs: []string{"f"}, KeptDataIDs: []string{"k"}},
			func(f *Fleet) { f.recordForming(membership.Step{Lost: []string{"a-1"}}) }, "[f d1]", "[k d0]", true},
		{"a recovery keeps the data of those that are given up",
			&databasev1alpha1.EtcdMembership{NamesAllData: true, FormerDataIDs: []string{"f"}, KeptDataIDs: []string{"k"}},
			func(f *Fleet) { f.recordRecovery(recovery) }, "[f]", "[k d1]", true},
		{"a restore keeps what the record names",
			&databasev1alpha1.EtcdMembership{NamesAllData: true, FormerDataIDs: []string{"f"}, KeptDataIDs: []string{"k"}},
			func(f *Fleet) {
				_ = f.doStartRestore(t.Context(), membership.Step{Restore: &databasev1alpha1.EtcdMembershipRestore{}})
			}, "[f]", "[k]", true},
		{"a record that is older than what runs does not name all", &databasev1alpha1.EtcdMembership{NamesAllData: true},
			func(f *Fleet) { f.recordAsItRuns(membership.Step{Member: "a-0"}) }, "[]", "[]", false},
		{"a removed member is named", &databasev1alpha1.EtcdMembership{NamesAllData: true},
			func(f *Fleet) { forget(f.Cluster.Status.Membership, "a-1") }, "[d1]", "[]", true},
		{"a record that drops the oldest does not name all", &databasev1alpha1.EtcdMembership{NamesAllData: true}, func(f *Fleet) {
			noteKept(f.Cluster.Status.Membership, make([]string, maxDataIDs)...)
			noteKept(f.Cluster.Status.Membership, make([]string, maxDataIDs)...)
			f.Cluster.Status.Membership.KeptDataIDs = nil
		}, "[]", "[]", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := builders.EtcdCluster("a").Build()
			f := &Fleet{Cluster: e, Spec: membership.Spec{Name: "a", Size: 1}, Effects: savedEffects{},
				Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
			if c.before != nil {
				e.Status.Membership = c.before
				c.before.Members = []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", DataID: "d0"}, {Name: "a-1", DataID: "d1"}}
				for i := range c.before.Members {
					f.Members = append(f.Members, membership.Member{Name: c.before.Members[i].Name, Record: &c.before.Members[i]})
				}
			}
			c.act(f)
			record := e.Status.Membership
			if former, kept := fmt.Sprint(record.FormerDataIDs), fmt.Sprint(record.KeptDataIDs); former != c.former || kept != c.kept ||
				record.NamesAllData != c.all {
				t.Errorf("it drops %s, keeps %s, and names all: %v", former, kept, record.NamesAllData)
			}
		})
	}
}
