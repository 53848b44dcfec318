package membership

import (
	"encoding/json"
	"fmt"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
)

// findForeignData has a member not start, as its volume has the data of another cluster.
func (s *scene) findForeignData(i int) {
	s.silence(i)
	m := &s.Members[i]
	m.Pod.Foreign, m.Pod.Stopped, m.Record.Ran = "x", true, false
}

// formNow makes it a cluster whose members have not met yet.
func (s *scene) formNow() {
	s.Status.Membership.ClusterID, s.Listed, s.ClusterID = "", false, 0
	for i := range s.Members {
		s.silence(i)
		s.Members[i].Record.Ran, s.Members[i].Record.ID, s.Members[i].Listed = false, "", nil
	}
}

func TestForeignData(t *testing.T) {
	for _, c := range []row{
		{"E18: an empty cluster does not form next to the data of another", func(s *scene) {
			s.formNow()
			s.findForeignData(0)
			s.findForeignData(2)
		}, "Block ", "the volumes of a-0 (x), a-2 (x) have the data of another cluster or member"},
		{"E18: that may also be the data of a member that the API server has forgotten", func(s *scene) { s.findForeignData(0) }, "Block ",
			"If the API server was put back to an earlier state, that data may be of a member that was replaced since"},
		{"E18: no backup is restored next to the data of another cluster", func(s *scene) { s.restoring(); s.findForeignData(0) }, "Block ",
			"the volumes of a-0 (x) have the data of another cluster"},
		{"E18: no member joins next to the data of another cluster", func(s *scene) { s.addLearner(); s.Size = 4; s.findForeignData(3) },
			"Block ", "the volumes of a-3 (x) have the data of another cluster"},
		{"E18: a majority that the data of another cluster holds up is not waited for in silence", func(s *scene) {
			s.findForeignData(2)
			s.silence(1)
			s.Listed = false
		}, "Block ", "the volumes of a-2 (x) have the data of another cluster"},
		{"E18: the block ends when the member runs", func(s *scene) { s.Members[2].Pod.Foreign = "x" }, "Idle ", ""},
		{"E18: a member that is not asked for any more is removed", func(s *scene) { s.Size = 2; s.findForeignData(2) }, "RemoveMember a-2",
			"size is 2"},
		{"E18: with another volume it is replaced", func(s *scene) { s.findForeignData(2); s.Members[2].Pod.ClaimUID = "other" },
			"RemoveMember a-2", "it has lost its data"},
		{"E18: with other volumes the cluster forms", func(s *scene) {
			s.formNow()
			for i := range s.Members {
				s.findForeignData(i)
				s.Members[i].Pod.ClaimUID = "other"
			}
		}, "Form ", ""},
	} {
		t.Run(c.name, c.test)
	}
}

func TestAPermitNamesAllDataOfItsCluster(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(record *databasev1alpha1.EtcdMembership)
		want    string
	}{
		{"its own", func(*databasev1alpha1.EtcdMembership) {}, "[d0]"},
		{"what is dropped", func(r *databasev1alpha1.EtcdMembership) { r.FormerDataIDs = []string{"former"} }, "[d0 former]"},
		{"what a recovery keeps", func(r *databasev1alpha1.EtcdMembership) { r.KeptDataIDs = []string{"kept"} }, "[d0 kept]"},
		{"what a restore keeps", func(r *databasev1alpha1.EtcdMembership) {
			r.Restore = &databasev1alpha1.EtcdMembershipRestore{KeptDataIDs: []string{"d9"}}
		}, "[d0 d9]"},
		{"nothing if there may be more, as an earlier release did not note all",
			func(r *databasev1alpha1.EtcdMembership) { r.NamesAllData, r.KeptDataIDs = false, []string{"kept"} }, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.Status.Membership.NamesAllData = true
			c.arrange(s.Status.Membership)
			var permit launcher.Permit
			if err := json.Unmarshal([]byte(s.Permit(s.Members[0])), &permit); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(permit.Known); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}
