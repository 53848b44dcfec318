package membership

import (
	"strings"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// loseMajority leaves a-2 alone with its data, without a leader.
func (s *scene) loseMajority() {
	s.Listed = false
	s.loseData(0)
	s.loseData(1)
	s.Members[2].View.Leader, s.Members[2].View.Revision = 0, 77
}

// hasWaited has a member's server show its metrics alone, as it was restarted without a majority.
func (s *scene) hasWaited(i int) {
	s.Members[i].View = View{Waits: true, ID: s.Members[i].View.ID, Index: 70, Revision: 78}
}

// allow sets the annotation to the token that the message asks for.
func (s *scene) allow() {
	message := s.Plan().Message
	s.AllowedRecovery = message[strings.LastIndexByte(message, '=')+1:]
}

// recovering is the recorded recovery "r" from a-2, whose pod is a new one.
func (s *scene) recovering() {
	s.loseMajority()
	s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRecover, Name: "a-2", Recovery: "r"}
	s.Status.Membership.Members = s.Status.Membership.Members[2:]
	s.link()
	s.Members[0].Pod, s.Members[1].Pod = Pod{}, Pod{}
	s.replacePod(2)
}

// serveRecovered gives the pod a permit for that recovery, and has it serve.
func (s *scene) serveRecovered() {
	s.Members[2].Pod.Permit = s.Permit(s.Members[2])
	s.Listed, s.Members[2].View = true, View{Answered: true, ID: 102, Leader: 102}
}

// endBelow has the recovery from revision 77 end at revision 70.
func (s *scene) endBelow() {
	s.recovering()
	s.endRecoveryBelow()
}

func (s *scene) endRecoveryBelow() {
	s.Status.LastRecovery = &databasev1alpha1.EtcdRecovery{Member: "a-2", Lost: []string{"a-0", "a-1"}, Revision: 77}
	s.Members[2].Pod.Permit = s.Permit(s.Members[2])
	s.silence(2)
	s.Members[2].Pod.RecoveredTo = 70
}

func TestRecovery(t *testing.T) {
	for _, c := range []row{
		{"E8: a human must allow it", (*scene).loseMajority, "Block ", "from the data of a-2, revision 77"},
		{"E8: by the token of what was seen", func(s *scene) { s.loseMajority(); s.allow() }, "Recover a-2", "a human has allowed it"},
		{"E8: not by a token of something else", func(s *scene) {
			s.loseMajority()
			s.allow()
			s.Members[2].View.Index++
		}, "Block ", "annotate this object"},
		{"E8: the pod of the survivor stays while its claim would go with it", func(s *scene) {
			s.loseMajority()
			s.Listed = false
			s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRecover, Name: "a-2", Recovery: "r"}
			s.Members[0].Pod, s.Members[1].Pod = Pod{}, Pod{}
			s.Members[2].Pod.ClaimGoes = true
		}, "Block ", "the data would go with the pod"},
		{"E8: so does one that was given up and answers: it may have the next best data", func(s *scene) {
			s.recovering()
			s.Members[0].Pod, s.Members[0].View.Answered = Pod{UID: "x", Permit: "y"}, true
			s.Members[2].Pod.Permit, s.Members[2].Pod.ClaimGoes = `{"data":"d2"}`, true
		}, "Block ", "the data would go with the pod"},
		{"E8: unreachable is not lost", func(s *scene) { s.Listed = false; s.silence(0); s.silence(1) }, "Block ", "1 of 3 members answer"},
		{"the status is older than an EtcdRestore", func(s *scene) {
			s.Listed, s.Other = false, View{Answered: true, ClusterID: 0xabc}
			s.silence(0)
			s.silence(1)
			s.silence(2)
		}, "Block ", "a member of cluster abc, and none of cluster c"},
		{"a stranger at one address says nothing of the status", func(s *scene) {
			s.Listed, s.Other = false, View{Answered: true, ClusterID: 0xabc}
			s.silence(0)
			s.silence(1)
		}, "Block ", "1 of 3 members answer"},
		{"E8: nor is one that has no pod", func(s *scene) {
			s.Listed = false
			s.loseData(0)
			s.silence(1)
			s.Members[1].Pod = Pod{}
		}, "Block ", "1 of 3 members answer"},
		{"E8: a minority that is lost is replaced instead", func(s *scene) { s.loseData(0); s.lead(1) }, "RemoveMember a-0", ""},
		{"E8: the survivor that is silent is waited for", func(s *scene) { s.loseMajority(); s.silence(2) }, "Block ",
			"known once the pods of a-2 run"},
		{"E8: the survivor that waits for a majority says what it has", func(s *scene) { s.loseMajority(); s.hasWaited(2) }, "Block ",
			"from the data of a-2, revision 78"},
		{"E8: whose log is the latest, answered or not", func(s *scene) {
			s.addVoter()
			s.addVoter()
			s.Size = 5
			s.loseMajority()
			s.loseData(3)
			s.hasWaited(2)
			s.Members[4].View.Index, s.Members[4].View.Leader = s.Members[2].View.Index-1, 0
		}, "Block ", "from the data of a-2"},
		{"E8: one that waits and was no recorded voter", func(s *scene) {
			s.loseMajority()
			s.hasWaited(2)
			s.Members[2].Record.Ran, s.Members[2].Record.Joined = false, true
		}, "Block ", "is a learner"},
		{"E8: a learner that has not started is not waited for", func(s *scene) {
			s.loseMajority()
			s.addVoter()
			s.Members[3].Record.Ran, s.Members[3].Record.Joined, s.Members[3].Record.StartedBy = false, true, ""
			s.Members[3].Pod = Pod{}
			s.silence(3)
		}, "Block ", "from the data of a-2"},
		{"E8: nor is one that has met no leader", func(s *scene) {
			s.loseMajority()
			s.addVoter()
			s.Members[3].Record.Ran, s.Members[3].Record.Joined = false, true
			s.Members[3].View = View{Waits: true, ID: s.Members[3].View.ID, Revision: 1}
		}, "Block ", "from the data of a-2"},
		{"E8: one that may have caught up is", func(s *scene) {
			s.loseMajority()
			s.addVoter()
			s.Members[3].Record.Ran, s.Members[3].Record.Joined = false, true
			s.Members[3].Pod.HasRun = true
			s.silence(3)
		}, "Block ", "known once the pods of a-3 run"},
		{"E8: not by a token of when another knew of less", func(s *scene) {
			s.addVoter()
			s.addVoter()
			s.Size = 5
			s.loseMajority()
			s.loseData(3)
			s.Members[4].View.Index, s.Members[4].View.Leader = 60, 0
			s.Members[2].View.Index = 10
			s.allow()
			s.Members[2].View.Index = 20
		}, "Block ", "annotate this object"},
		{"E8: one that has found its data after all", func(s *scene) {
			s.loseMajority()
			s.hasWaited(1)
		}, "Block ", "0 of 3 members answer"},
		{"E8: the survivor with the latest log", func(s *scene) {
			s.addVoter()
			s.addVoter()
			s.Size = 5
			s.loseMajority()
			s.loseData(3)
			s.Members[4].View.Index, s.Members[4].View.Leader = 60, 0
		}, "Block ", "from the data of a-4"},
		{"E8: a term that it has only heard of makes no log later", func(s *scene) {
			s.addVoter()
			s.addVoter()
			s.Size = 5
			s.loseMajority()
			s.loseData(3)
			s.Members[4].View.Index, s.Members[4].View.Leader = 60, 0
			s.Members[2].View.Term = 3
		}, "Block ", "from the data of a-4"},
		{"E8: a restart without storage would lose the last copy", func(s *scene) { s.HasStorage = false; s.loseMajority() }, "Block ",
			"save it with etcdctl snapshot save"},
		{"E8: etcd makes no cluster of a learner", func(s *scene) { s.loseMajority(); s.Members[2].View.IsLearner = true }, "Block ",
			"is a learner"},
		{"E8: a learner that is lost does not count", func(s *scene) {
			s.addVoter()
			s.Members[3].Record.Ran, s.Members[3].Record.Joined = false, true
			s.Listed = false
			s.loseData(3)
			s.loseData(0)
		}, "Block ", "2 of 4 members answer"},
		{"E8: the survivor loses its data, too", func(s *scene) {
			s.recovering()
			s.Members[2].Pod.LostData = "d2"
		}, "Block ", "has lost it. To start without any data"},
		{"E8: that takes another token", func(s *scene) {
			s.loseMajority()
			s.allow()
			token := s.AllowedRecovery
			s.recovering()
			s.AllowedRecovery = token
			s.Members[2].Pod.LostData = "d2"
		}, "Block ", "has lost it. To start without any data"},
		{"E8: no one has any data", func(s *scene) { s.loseMajority(); s.loseData(2) }, "Block ", "To continue without any data"},
		{"E8: then it is formed again", func(s *scene) { s.loseMajority(); s.loseData(2); s.allow() }, "Form ", ""},
		{"E8: the earlier pod is stopped", func(s *scene) { s.recovering(); s.Members[2].Pod.Permit = `{"data":"d2"}` }, "DeletePod a-2",
			"members that are lost"},
		{"E8: a pod whose permit is older than the recovery is stopped", func(s *scene) {
			s.recovering()
			s.Members[2].Pod.Permit = `{"data":"d2","force":"before"}`
		}, "DeletePod a-2", "members that are lost"},
		{"E8: nothing that was given up runs next to it", func(s *scene) {
			s.recovering()
			s.Members[0].Pod, s.Members[0].View.Answered = Pod{UID: "x", Permit: "y"}, true
		}, "DeletePod a-0", "members that are lost"},
		{"E8: that takes its time", func(s *scene) {
			s.recovering()
			s.serveRecovered()
			s.Members[0].Pod = Pod{UID: "x", Permit: "y", Deleting: true}
		}, "Wait ", "waiting for a-2"},
		{"E8: so does it to become a cluster of one", func(s *scene) {
			s.recovering()
			s.serveRecovered()
			s.Listed = false
			s.silence(2)
		}, "Wait ", "waiting for a-2"},
		{"E8: it serves", func(s *scene) { s.recovering(); s.serveRecovered() }, "EndRecovery a-2", ""},
		{"E8: below the revision that a human allowed it does not serve", (*scene).endBelow, "Block ",
			"at revision 77, ends at revision 70: its log does not show"},
		{"E8: a human may allow that, too", func(s *scene) { s.endBelow(); s.allow() }, "Recover a-2", "a human has allowed it"},
		{"E8: not by the token of the later revision", func(s *scene) {
			s.loseMajority()
			s.allow()
			token := s.AllowedRecovery
			s.endBelow()
			s.AllowedRecovery = token
		}, "Block ", "annotate this object"},
		{"E8: where the recovery before ended says nothing", func(s *scene) {
			s.endBelow()
			s.Status.Membership.Change.Recovery = "next"
		}, "DeletePod a-2", "members that are lost"},
	} {
		t.Run(c.name, c.test)
	}
}

func TestPermitOfARecovery(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*scene)
		want    string
	}{
		{"a new pod takes part in it", func(*scene) {}, `"ran":true,"force":"r"`},
		{"it is given the same again", (*scene).serveRecovered, `"ran":true,"force":"r"`},
		{"it continues from no earlier revision than was allowed", (*scene).endRecoveryBelow, `"force":"r","minRevision":77`},
		{"not one that runs with members that are lost", func(s *scene) { s.Members[2].Pod.Permit = `{"data":"d2"}` }, ""},
		{"not one of an earlier recovery", func(s *scene) { s.Members[2].Pod.Permit = `{"data":"d2","force":"before"}` }, ""},
		{"not while what was given up may run", func(s *scene) { s.Members[0].Pod = Pod{UID: "x", Permit: "y", Deleting: true} }, ""},
		{"none once it has ended", func(s *scene) { s.Status.Membership.Change = nil }, `"ran":true,"state"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.recovering()
			c.arrange(s)
			got := s.Permit(s.Members[2])
			if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("got %s", got)
			}
		})
	}
}
