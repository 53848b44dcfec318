package membership

import (
	"fmt"
	"strings"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"
)

// putBack has a member find that its log ends at an entry of term 2, where it had entry 90 of term 3.
func (s *scene) putBack(i int, index uint64) {
	s.recordLog(i)
	s.silence(i)
	m := &s.Members[i]
	m.Pod.LostData, m.Pod.Earlier, m.Pod.Stopped = m.Record.DataID, &wal.End{Term: 2, Index: index}, true
}

// recordLog records that the log of a member had entry 90 of term 3 on its disk.
func (s *scene) recordLog(i int) {
	s.Status.DurableLogs = append(s.Status.DurableLogs,
		databasev1alpha1.EtcdDurableLog{Name: s.Members[i].Name, DataID: s.Members[i].Record.DataID, Index: 90, Term: 3})
}

// putBackAll has all members find earlier states: the log of a-1 ends last.
func (s *scene) putBackAll() {
	s.Listed = false
	for i, index := range []uint64{40, 60, 50} {
		s.putBack(i, index)
	}
}

func TestPlanOfAnEarlierState(t *testing.T) {
	for _, c := range []row{
		{"E2: a member whose disk was put back is replaced", func(s *scene) { s.putBack(2, 40) }, "RemoveMember a-2",
			"its log ends at entry 40 of term 2, and it had entry 90 of term 3"},
		{"E2: also a learner", func(s *scene) { s.addLearner(); s.Size = 4; s.putBack(3, 40) }, "RemoveMember a-3", "its log ends at entry 40"},
		{"E2: once a majority of the others is healthy", func(s *scene) { s.putBack(2, 40); s.silence(1) }, "Block ",
			"a-2 has an earlier state of its data, as if its disk had been put back"},
		{"E2: not once it runs", func(s *scene) {
			s.recordLog(2)
			s.Members[2].Pod.LostData, s.Members[2].Pod.Earlier = "d2", &wal.End{Term: 2, Index: 40}
		}, "Idle ", ""},
		{"E2: what another member has found counts no more", func(s *scene) {
			s.putBack(2, 40)
			s.Members[2].Pod.LostData = "former"
		}, "Wait ", "waiting for a-2"},
		{"E2: without a majority the one that runs is waited for", func(s *scene) {
			s.Listed = false
			s.putBack(1, 40)
			s.silence(2)
		}, "Block ", "1 of 3 members answer"},
		{"E8: what one has kept is better than what was put back", func(s *scene) {
			s.Listed, s.Members[2].View.Leader, s.Members[2].View.Revision = false, 0, 77
			s.putBack(0, 40)
			s.putBack(1, 60)
		}, "Block ", "a-0 (its log ends at entry 40 of term 2, and it had entry 90 of term 3), a-1 (its log ends at entry 60 of term 2, and it " +
			"had entry 90 of term 3) have lost their data, and with it the majority. To continue from the data of a-2, revision 77"},
		{"E8: if all disks were put back, a human may continue from the one whose log ends last", (*scene).putBackAll, "Block ",
			"To continue from the data of a-1, whose log ends last, and lose confirmed writes that only they had, annotate"},
		{"E8: by the token of what was found", func(s *scene) { s.putBackAll(); s.allow() }, "Recover a-1", "a human has allowed it"},
		{"E8: not by a token of another end", func(s *scene) {
			s.putBackAll()
			s.allow()
			s.Members[0].Pod.Earlier.Index++
		}, "Block ", "annotate this object"},
		{"E8: not without storage, as the data goes with the pod", func(s *scene) { s.HasStorage = false; s.putBackAll() }, "Block ",
			"To continue without"},
		{"E8: nor from another volume", func(s *scene) {
			s.putBackAll()
			s.Members[1].Pod.ClaimUID = "other"
		}, "Block ", "To continue from the data of a-2"},
		{"E8: a recovery from that data continues with another pod", func(s *scene) {
			s.recovering()
			s.Members[2].Pod = Pod{UID: "p", ClaimUID: claimOf(2), Permit: `{"data":"d2"}`, LostData: "d2", Earlier: &wal.End{Term: 2, Index: 40}}
		}, "DeletePod a-2", ""},
	} {
		t.Run(c.name, c.test)
	}
}

// TestPermitOfAnEarlierState shows that a permit has the recorded entry of exactly the data that it names.
func TestPermitOfAnEarlierState(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*scene)
		want    string
	}{
		{"nothing is recorded", func(*scene) {}, "<nil>"},
		{"an entry is recorded", func(s *scene) { s.recordLog(2) }, "entry 90 of term 3"},
		{"an entry of a former member is recorded", func(s *scene) { s.recordLog(2); s.Members[2].Record.DataID = "next" }, "<nil>"},
		{"a record with negative numbers is none", func(s *scene) {
			s.Status.DurableLogs = []databasev1alpha1.EtcdDurableLog{{Name: "a-2", DataID: "d2", Index: -1, Term: -1}}
		}, "<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.arrange(s)
			permit, _ := ParsePermit(s.Permit(s.Members[2]))
			if got := fmt.Sprint(permit.Log); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestARunningMemberNeedsNoPermitForItsLog shows that pods are not written to while their servers answer, however often their logs are
// recorded, and that one which does not answer is given what is recorded.
func TestARunningMemberNeedsNoPermitForItsLog(t *testing.T) {
	s := newScene()
	for i := range s.Members {
		s.recordLog(i)
	}
	if missing := s.MissingPermits(); len(missing) > 0 {
		t.Errorf("got %v", missing)
	}
	s.silence(1)
	if missing := s.MissingPermits(); len(missing) != 1 || !strings.Contains(missing["a-1"], `"log":{"term":3,"index":90}`) {
		t.Errorf("got %v", missing)
	}
}
