package membership

import (
	"strings"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// row is a situation and what is planned in it.
type row struct {
	name    string
	arrange func(*scene)
	want    string // the step: what it does and its member
	says    string // part of the message, the target, or the version and its image
}

func (r row) test(t *testing.T) {
	s := newScene()
	r.arrange(s)
	got := s.Plan()
	if got.String() != r.want || !strings.Contains(got.Message+got.Target+got.Version+" "+got.Image, r.says) {
		t.Errorf("got %s: %s%s%s %s", got, got.Message, got.Target, got.Version, got.Image)
	}
	if got.Do == Wait && got.RequeueAfter == 0 {
		t.Error("it has no end")
	}
	if got.Do == Block && got.Reason == "" {
		t.Error("it has no reason")
	}
}

func TestPlan(t *testing.T) {
	for _, c := range []row{
		{"at rest", func(*scene) {}, "Idle ", ""},
		{"a new cluster is formed", func(s *scene) { s.Status.Membership, s.Members = nil, nil }, "Form ", "3.6.16"},
		{"not with a version that it cannot run", func(s *scene) {
			s.Status.Membership, s.Members, s.WantedError = nil, nil, "this release knows no etcd 3.9"
		}, "Block ", "version: this release knows no etcd 3.9"},
		{"not before its volume is known", func(s *scene) { s.Members[1].Record.StartedBy, s.Members[1].Pod.ClaimUID = "", "" }, "Idle ", ""},
		{"who may start is saved first", func(s *scene) { s.Members[1].Record.StartedBy = "" }, "StartMember a-1", ""},
		{"not a pod that is going", func(s *scene) {
			s.Members[1].Record.StartedBy, s.Members[1].Pod.Deleting = "", true
			s.silence(1)
		}, "Wait ", "waiting for a-1"},
		{"the members have not met", func(s *scene) { s.Status.Membership.ClusterID, s.Listed = "", false }, "Wait ", "form the cluster"},
		{"the members have met", func(s *scene) { s.Status.Membership.ClusterID = "" }, "RecordIDs ", ""},
		{"a recorded member is not listed yet", func(s *scene) { s.Status.Membership.ClusterID, s.Members[2].Listed = "", nil },
			"Wait ", "form the cluster"},
		{"who was seen to run is recorded", func(s *scene) { s.Members[2].Record.Ran = false }, "RecordIDs ", ""},
		{"a cluster that no one has data of is formed again", func(s *scene) { s.notFormed(0, 1, 2) }, "Form ", "3.6.16"},
		{"one of three that has lost its data is replaced when the others have formed it", func(s *scene) { s.notFormed(0) },
			"Wait ", "form the cluster; a-0 has lost its data"},
		{"also if who is left has no key", func(s *scene) { s.notFormed(0, 1); s.Members[2].View = View{Waits: true, Index: 3, Revision: 1} },
			"Form ", "no member has any data"},
		{"a cluster is formed again if the member that is left has not started", func(s *scene) {
			s.notFormed(0, 1)
			s.silence(2)
			s.Members[2].Record.StartedBy, s.Members[2].Pod = "", Pod{}
		}, "Form ", "no member has any data"},
		{"not with a version that is not known", func(s *scene) { s.notFormed(0, 1, 2); s.WantedError = "it is not known" },
			"Block ", "version: it is not known"},
		{"not while who is left does not show", func(s *scene) { s.notFormed(0, 1); s.silence(2) },
			"Block ", "once the pods of a-2 run"},
		{"E8: not over keys", func(s *scene) { s.notFormed(0, 1); s.Members[2].View = View{Waits: true, Index: 9, Revision: 2} },
			"Block ", "a-2 has data, revision 2: copy its member/snap/db"},
		{"E8: but by a human's word", func(s *scene) {
			s.notFormed(0, 1)
			s.Members[2].View = View{Waits: true, Index: 9, Revision: 2}
			_, s.AllowedRecovery, _ = strings.Cut(s.Plan().Message, "=")
		}, "Form ", "3.6.16"},
		{"an earlier pod does not start as the next member",
			func(s *scene) { s.notFormed(); s.Members[2].Record.StartedBy, s.Members[2].Record.DataID = "", "next" },
			"Wait ", "form the cluster"},
		{"never once the members have met", func(s *scene) {
			s.Listed, s.ClusterID = false, 0
			for i := range s.Members {
				s.loseData(i)
			}
		}, "Block ", "To continue without any data"},
		{"no majority", func(s *scene) { s.Listed = false; s.silence(0); s.silence(1) }, "Block ", "1 of 3 members answer"},
		{"a member that somebody else added", func(s *scene) { s.UnknownMembers = []ListedMember{{ID: 0xabc}} }, "Block ", "abc"},
		{"E4: an addition that was cut short continues", func(s *scene) {
			s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdAdd, Name: "a-3"}
		}, "AddMember a-3", ""},
		{"E4: a removal that was cut short continues", func(s *scene) {
			s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRemove, Name: "a-2"}
		}, "RemoveMember a-2", ""},
		{"a member that is listed and not recorded", func(s *scene) {
			listed := s.Members[2].Listed
			s.forget(2)
			s.Members[2].Listed, s.Members[2].Pod = listed, Pod{}
		}, "RemoveMember a-2", "not recorded"},
		{"E1: nothing is changed while a member is silent", func(s *scene) { s.Size = 5; s.silence(2) }, "Wait ", "waiting for a-2"},
		{"E1: a lost member is replaced while the others are well", func(s *scene) { s.loseData(2) }, "RemoveMember a-2", "lost its data"},
		{"E1: also while another is silent, if a majority of the others is well", func(s *scene) {
			s.addVoter()
			s.addVoter()
			s.Size = 5
			s.loseData(2)
			s.silence(0)
			s.lead(1)
		}, "RemoveMember a-2", "lost its data"},
		{"E1: another volume has not what was confirmed", func(s *scene) { s.replacePod(2); s.Members[2].Pod.ClaimUID = "restored" },
			"RemoveMember a-2", "lost its data"},
		{"E1: two that are lost, one after the other", func(s *scene) { s.addVoter(); s.addVoter(); s.Size = 5; s.loseData(2); s.loseData(3) },
			"RemoveMember a-2", "lost its data"},
		{"E1: not without a majority of the others", func(s *scene) { s.loseData(2); s.silence(1) }, "Block ", "not healthy: a-1"},
		{"E1: a change that etcd would refuse is withdrawn", func(s *scene) {
			s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdAdd, Name: "a-3"}
			s.silence(1)
		}, "WithdrawChange a-3", "waiting for a-1"},
		{"E1: also a removal", func(s *scene) {
			s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRemove, Name: "a-2", ID: FormatID(102)}
			s.silence(1)
		}, "WithdrawChange a-2", "waiting for a-1"},
		{"E1: not one that is done", func(s *scene) {
			s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRemove, Name: "a-2", ID: "9"}
			s.silence(1)
		}, "RemoveMember a-2", ""},
		{"a surplus member that does not run holds up nothing", func(s *scene) { s.addVoter(); s.silence(3) },
			"RemoveMember a-3", "it does not run"},
		{"two surplus members that do not run hold up nothing", func(s *scene) { s.addVoter(); s.addVoter(); s.silence(3); s.silence(4) },
			"RemoveMember a-4", "it does not run"},
		{"it stays while no majority of the others is healthy",
			func(s *scene) { s.addVoter(); s.addVoter(); s.silence(2); s.silence(3); s.silence(4) },
			"Wait ", "waiting for a-2, a-3, a-4"},
		{"a record that is gone is not restarted over data", func(s *scene) { s.Status.Membership = nil },
			"Block ", "status.membership is gone"},
		{"a cluster is not started over what a former object has left", func(s *scene) {
			s.Status.Membership, s.Members, s.Claims = nil, nil, []Claim{{Name: "data-a-0", Data: "t"}}
		}, "Block ", "data-a-0 have the data of a former EtcdCluster"},
		{"the only member", func(s *scene) { s.forget(2); s.forget(1); s.Members, s.Size = s.Members[:1], 1; s.loseData(0) },
			"Block ", "a-0 has lost its data"},
		{"E2: another pod continues with the data", func(s *scene) { s.replacePod(2) }, "Wait ", "waiting for a-2"},
		{"E2: without storage another pod has lost it", func(s *scene) { s.HasStorage = false; s.replacePod(2) },
			"RemoveMember a-2", "lost its data"},
		{"E2: without storage a pod that is away may come back", func(s *scene) { s.HasStorage = false; s.silence(2); s.Members[2].Pod = Pod{} },
			"Wait ", "waiting for a-2"},
		{"E2: what an earlier start lost is not this member's", func(s *scene) { s.silence(2); s.Members[2].Pod.LostData = "earlier" },
			"Wait ", "waiting for a-2"},
		{"E2: a member that answers has its data", func(s *scene) { s.Members[2].Pod.LostData = "d2" }, "Idle ", ""},
		{"E2: a pod that was asked to be a former member goes", func(s *scene) { s.Members[2].Record.DataID = "next"; s.silence(2) },
			"DeletePod a-2", "no longer part"},
		{"E2: also when there is no member in its place", func(s *scene) { s.forget(1); s.silence(1) }, "DeletePod a-1", "no longer part"},
		{"E4: a silent one stays while etcd lists it: the record may be older", func(s *scene) {
			s.Members[2].Record.DataID, s.Members[2].Record.ID = "older", "9"
			s.silence(2)
		}, "Wait ", "waiting for a-2"},
		{"E4: and while etcd cannot be asked", func(s *scene) {
			s.Members[2].Record.DataID, s.Listed = "older", false
			s.silence(2)
		}, "Block ", "2 of 3 members answer"},
		{"E2: its server ends first", func(s *scene) { s.forget(1) }, "Wait ", "the former member of a-1 to end"},
		{"E4: a member that somebody removed is forgotten", func(s *scene) { s.Members[2].Listed = nil; s.silence(2) },
			"ForgetMember a-2", "no longer lists"},
		{"E4: so is one in whose place another was added, which no pod starts as", func(s *scene) {
			s.Members[2].Listed.ID, s.Members[2].Listed.Name = 9, ""
			s.silence(2)
		}, "ForgetMember a-2", "no longer lists"},
		{"E4: not if that one has run, as the record may be older", func(s *scene) { s.Members[2].Listed.ID = 9; s.silence(2) },
			"Wait ", "waiting for a-2"},
		{"E4: a member that runs is right, and the record is older",
			func(s *scene) { s.Members[2].Record.DataID, s.Members[2].Record.ID = "older", "9" }, "AdoptMember a-2", "the record is older"},
		{"E4: also one that the record does not know", func(s *scene) {
			listed := s.Members[2].Listed
			s.forget(2)
			s.Members[2].Listed = listed
		}, "AdoptMember a-2", ""},
		{"E4: not one that etcd does not list", func(s *scene) { s.forget(1); s.Members[1].View.ID = 9 },
			"Wait ", "the former member of a-1 to end"},
		{"E3: a learner is promoted by the leader's word", func(s *scene) {
			s.Members[2].Listed.IsLearner, s.Members[2].View.IsLearner = true, true
		}, "PromoteMember a-2", ""},
		{"E3: a learner that is silent is waited for", func(s *scene) { s.Members[2].Listed.IsLearner = true; s.silence(2) },
			"Wait ", "waiting for a-2"},
		{"more members", func(s *scene) { s.Size = 5 }, "AddMember a-3", ""},
		{"a place between is filled first", func(s *scene) { s.Size = 5; s.forget(1); s.Members[1].Pod = Pod{}; s.silence(1) },
			"AddMember a-1", ""},
		{"fewer members, the highest first", func(s *scene) { s.addVoter(); s.addVoter() }, "RemoveMember a-4", "size is 3"},
		{"E6: the leader is not removed", func(s *scene) { s.addVoter(); s.addVoter(); s.lead(4) }, "MoveLeader a-4", "a-0"},
		{"an outdated pod, the highest first", func(s *scene) { s.outdate(0, 1, 2) }, "EvictPod a-2", "outdated"},
		{"E6: the leader's pod last", func(s *scene) { s.outdate(0, 1, 2); s.lead(2) }, "EvictPod a-1", "outdated"},
		{"E6: not before the others follow the new leader", func(s *scene) { s.outdate(0); s.lead(2); s.Members[1].View.Leader = 100 },
			"Wait ", "waiting for a-1 to follow a-2, which leads"},
		{"one that is not ready goes first: the budget spares no other", func(s *scene) {
			s.outdate(0, 1, 2)
			s.Members[1].Pod.Ready = false
		}, "EvictPod a-1", "outdated"},
		{"an empty place is filled first: the budget counts its pod", func(s *scene) {
			s.Size = 5
			s.addVoter()
			s.addVoter()
			s.outdate(0, 1, 3, 4)
			s.forget(2)
			s.silence(2)
			s.Members[2].Pod.Permit = ""
		}, "AddMember a-2", ""},
		{"E6: the lead moves before its pod goes", func(s *scene) { s.outdate(0) }, "MoveLeader a-0", "a-1"},
		{"E6: to one that has most of the log", func(s *scene) { s.outdate(0); s.Members[2].View.Index = 60 }, "MoveLeader a-0", "a-2"},
		{"E6: to one that stays rather", func(s *scene) { s.outdate(0, 1); s.lead(1); s.Members[0].View.Index = 60 },
			"EvictPod a-0", "outdated"},
		{"E6: also while another is silent", func(s *scene) { s.Members[0].Pod.Deleting = true; s.silence(2) }, "MoveLeader a-0", "a-1"},
		{"E6: away from a pod that is going", func(s *scene) { s.Members[0].Pod.Deleting = true }, "MoveLeader a-0", "a-1"},
		{"an outdated pod that fails goes at once", func(s *scene) { s.outdate(1); s.silence(1); s.Members[1].Pod.Stopped = true },
			"DeletePod a-1", "no server runs"},
		{"E5: not while one of the latest template fails, too", func(s *scene) {
			s.outdate(1)
			for _, i := range []int{1, 2} {
				s.silence(i)
				s.Members[i].Pod.Stopped = true
			}
		}, "Wait ", "waiting for a-1, a-2"},
		{"E5: no pod goes while another is going", func(s *scene) { s.outdate(1); s.Members[2].Pod.Deleting = true },
			"Wait ", "a-2 to be recreated"},
		{"E5: no pod goes while a member is silent", func(s *scene) { s.outdate(1); s.silence(2) }, "Wait ", "waiting for a-2"},
		{"the only member's pod goes: its volume stays", func(s *scene) {
			s.forget(2)
			s.forget(1)
			s.Members, s.Size = s.Members[:1], 1
			s.outdate(0)
		}, "DeletePod a-0", "outdated"},
		{"the only member's pod stays if its volume would go with it", func(s *scene) {
			s.forget(2)
			s.forget(1)
			s.Members, s.Size = s.Members[:1], 1
			s.outdate(0)
			s.Members[0].Pod.ClaimGoes = true
		}, "Block ", "deleted its PersistentVolumeClaim"},
		{"no member starts on a volume that goes", func(s *scene) {
			s.Members[2].Record.StartedBy, s.Members[2].Record.Ran = "", false
			s.Members[2].Pod.Permit, s.Members[2].Pod.ClaimGoes = "", true
			s.silence(2)
		}, "DeletePod a-2", "is being deleted"},
		{"without storage a lost member is replaced before the next pod goes", func(s *scene) {
			s.HasStorage = false
			s.forget(2)
			s.silence(2)
			s.Members[2].Pod = Pod{}
			s.outdate(0, 1)
		}, "AddMember a-2", ""},
		{"E5: of two voters no pod goes", func(s *scene) {
			s.forget(2)
			s.silence(2)
			s.Members[2].Pod = Pod{}
			s.outdate(0, 1)
		}, "AddMember a-2", ""},
		{"not without storage", func(s *scene) {
			s.forget(2)
			s.forget(1)
			s.Members, s.Size, s.HasStorage = s.Members[:1], 1, false
			s.outdate(0)
		}, "Block ", "which would go with its pod"},
		{"a template that no server runs with is repaired", func(s *scene) { s.silence(2); s.outdate(2); s.Members[2].Pod.Stopped = true },
			"DeletePod a-2", "no server runs in it"},
		{"also without a majority", func(s *scene) {
			s.outdateWithoutMajority(1)
			s.Members[1].Pod.Stopped = true
		}, "DeletePod a-1", "no server runs in it"},
		{"without a majority a pod that cannot start takes the corrected template although another is dead", func(s *scene) {
			s.outdateWithoutMajority(1)
			s.Members[1].Pod.Stopped, s.Members[1].Pod.Fails, s.Members[2].Pod.Stopped = true, true, true
		}, "DeletePod a-1", "no server runs in it"},
		{"without a majority a pod that its kubelet may start again waits while another of the latest template fails", func(s *scene) {
			s.outdateWithoutMajority(1)
			s.Members[1].Pod.Stopped, s.Members[2].Pod.Stopped = true, true
		}, "Block ", "answer and know a leader"},
		{"E5: with a majority a pod that cannot start waits while another of the latest template fails", func(s *scene) {
			s.Size = 5
			s.addVoter()
			s.addVoter()
			s.outdate(1)
			s.silence(1)
			s.silence(2)
			s.Members[1].Pod.Stopped, s.Members[1].Pod.Fails, s.Members[2].Pod.Stopped = true, true, true
		}, "Wait ", "waiting for a-1, a-2"},
		{"not one that the kubelet finds ready", func(s *scene) { s.silence(2); s.outdate(2); s.Members[2].Pod.Ready = true },
			"Wait ", "waiting for a-2"},
		{"not one whose container runs", func(s *scene) { s.silence(2); s.outdate(2) }, "Wait ", "waiting for a-2"},
		{"not while another pod is going", func(s *scene) {
			s.silence(2)
			s.outdate(2)
			s.Members[2].Pod.Stopped, s.Members[1].Pod.Deleting = true, true
		}, "Wait ", "waiting for a-2"},
		{"also while the cluster forms and another has started: what it has is on its volume", func(s *scene) {
			s.notFormed()
			s.silence(2)
			s.outdate(2)
			s.Members[2].Pod.Stopped = true
		}, "DeletePod a-2", "no server runs in it"},
		{"not one whose volume goes with it, without a majority", func(s *scene) {
			s.outdateWithoutMajority(2)
			s.Members[2].Pod.Stopped, s.Members[2].Pod.ClaimGoes = true, true
		}, "Block ", "delete these pods"},
		{"an image that no server runs with is not kept once spec.image is removed", func(s *scene) {
			s.HasStorage, s.Status.TargetImage = false, "mirror/etcd:typo"
			s.failToStart(2)
			s.Members[2].Pod.Image, s.Members[2].Pod.Outdated = "mirror/etcd:typo", false
		}, "SetVersion ", "etcd:v3.6.16"},
		{"an image that no server of a cluster that forms runs with is not kept either", func(s *scene) {
			s.Status.TargetImage = "mirror/etcd:typo"
			s.notFormed()
			for i := range s.Members {
				s.failToStart(i)
				s.Members[i].Pod.Image = "mirror/etcd:typo"
			}
		}, "SetVersion ", "etcd:v3.6.16"},
		{"an image that servers run with is kept without spec.image", func(s *scene) {
			s.Status.TargetImage = "mirror/etcd:v3.6.16"
			s.Members[0].Pod.Image = "mirror/etcd:v3.6.16"
			s.outdate(1, 2)
		}, "EvictPod a-2", ""},
		{"an image whose servers are away for a moment is kept", func(s *scene) {
			s.Status.TargetImage = "mirror/etcd:v3.6.16"
			for i := range s.Members {
				s.replacePod(i)
				s.Members[i].Pod.Image = "mirror/etcd:v3.6.16"
			}
		}, "Wait ", "waiting for a-0, a-1, a-2"},
		{"without storage one that never ran goes, though others have", func(s *scene) { s.HasStorage = false; s.failToStart(2) },
			"DeletePod a-2", "no server runs in it"},
		{"without storage one that never ran goes while the cluster forms", func(s *scene) {
			s.HasStorage = false
			s.notFormed()
			s.silence(1)
			s.silence(2)
			s.failToStart(2)
		}, "DeletePod a-2", "no server runs in it"},
		{"not one whose node may only be silent", func(s *scene) {
			s.HasStorage = false
			s.notFormed()
			s.silence(2)
			s.failToStart(1)
			s.Members[1].Pod.NeverRan = false
		}, "Wait ", "form the cluster"},
		{"without storage a pod that was seen to run stays", func(s *scene) {
			s.HasStorage, s.Listed = false, false
			s.silence(1)
			s.failToStart(2)
			s.Members[2].Record.Ran = true
		}, "Block ", "without a majority"},
		{"a learner that never ran goes, too", func(s *scene) {
			s.HasStorage = false
			s.forget(2)
			s.Members = s.Members[:2]
			s.addLearner()
			s.failToStart(2)
		}, "DeletePod a-2", "no server runs in it"},
		{"without storage one that ran goes if its member can be replaced", func(s *scene) {
			s.HasStorage = false
			s.silence(2)
			s.outdate(2)
			s.Members[2].Pod.Stopped = true
		}, "DeletePod a-2", "no server runs in it"},
		{"not one that takes its data along, without a majority of the others", func(s *scene) {
			s.HasStorage = false
			for _, i := range []int{1, 2} {
				s.silence(i)
				s.outdate(i)
				s.Members[i].Pod.Stopped = true
			}
		}, "Wait ", "waiting for a-1, a-2"},
		{"a human is asked about pods that may have the only data", func(s *scene) {
			s.HasStorage, s.Listed = false, false
			for i := range s.Members {
				s.silence(i)
				s.outdate(i)
				s.Members[i].Pod.Stopped = true
			}
		}, "Block ", "delete these pods"},
		{"also while the cluster forms", func(s *scene) {
			s.HasStorage = false
			s.notFormed()
			for i := range s.Members {
				s.silence(i)
				s.outdate(i)
				s.Members[i].Pod.Stopped = true
			}
		}, "Block ", "delete these pods"},
		{"a cluster is formed again when who is left never ran", func(s *scene) {
			s.HasStorage = false
			s.notFormed(0, 1)
			s.failToStart(2)
			s.Members[2].Pod.Outdated = false
		}, "Form ", "no member has any data"},
		{"not when that is not proven", func(s *scene) {
			s.HasStorage = false
			s.notFormed(0, 1)
			s.failToStart(2)
			s.Members[2].Pod.NeverRan, s.Members[2].Pod.Outdated = false, false
		}, "Block ", "cannot form it alone"},
		{"E7: the next version", func(s *scene) { s.Wanted = Version{7, 3} }, "SetVersion ", "3.7.3"},
		{"E7: the logs of a cluster of 3.5 must be readable to 3.7", func(s *scene) { s.fromOld(0) }, "LimitLog ", ""},
		{"E7: entries are written until every member has dropped the old ones",
			func(s *scene) { s.fromOld(151); s.Members[1].View.Applied = 150 }, "WriteEntries ", "before 3.7.3"},
		{"E7: then comes the next version", func(s *scene) { s.fromOld(151) }, "SetVersion ", "3.7.3"},
		{"E7: a cluster whose first version is not known may be of 3.5", func(s *scene) { s.fromOld(0); s.Status.Membership.InitialVersion = "" },
			"LimitLog ", ""},
		{"E7: 3.6 reads what 3.5 wrote", func(s *scene) {
			s.Status.Membership.InitialVersion, s.Status.TargetVersion = "3.5.35", "3.5.35"
			s.run(Version{5, 35}, "3.5", 0, 1, 2)
		}, "SetVersion ", "3.6.16"},
		{"E7: not while one runs the version before", func(s *scene) {
			s.Wanted = Version{7, 3}
			s.pull("etcd:v3.5.35", 1)
			s.run(Version{5, 35}, "3.5", 1)
		}, "Wait ", "waiting for a-1 to agree on version 3.6 before 3.7.3"},
		{"E7: not while one has not agreed", func(s *scene) { s.Wanted = Version{7, 3}; s.run(Version{6, 16}, "3.5", 2) },
			"Wait ", "waiting for a-2 to agree"},
		{"E7: not while a pod is outdated", func(s *scene) { s.Wanted = Version{7, 3}; s.outdate(1) }, "EvictPod a-1", ""},
		{"E7: never back", func(s *scene) { s.Wanted = Version{5, 35} }, "Block ", "restore a backup"},
	} {
		t.Run(c.name, c.test)
	}
}

func TestReadableFrom(t *testing.T) {
	s := newScene()
	s.Members[2].View.Index = 70
	if got := s.ReadableFrom(); got != 70+SnapshotCount+1 {
		t.Errorf("got %d", got)
	}
}

func TestPermit(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*scene)
		want    string
	}{
		{"one that was recorded may start", func(s *scene) { s.Members[1].Record.Ran = false },
			`{"pod":"pod-1","data":"d1","fresh":true,"state":"new","token":"t","initialCluster":["a-0=https://a-0.a-headless.ns.svc:2380",` +
				`"a-1=https://a-1.a-headless.ns.svc:2380","a-2=https://a-2.a-headless.ns.svc:2380"]}`},
		{"one that ran must find its log", func(*scene) {}, `{"pod":"pod-1","data":"d1","fresh":true,"ran":true,`},
		{"another pod must find the data", func(s *scene) { s.replacePod(1) }, `{"pod":"new-pod-1","data":"d1","ran":true,`},
		{"one that joins a cluster which runs", func(s *scene) { s.Members[1].Record.Joined = true }, `"memberID":"65","state":"existing"`},
		{"one that is not recorded may not start", func(s *scene) { s.forget(1) }, ""},
		{"one that is not recorded to start may not start", func(s *scene) { s.Members[1].Record.StartedBy = "" }, ""},
		{"one whose volume is another may not start", func(s *scene) { s.Members[1].Pod.ClaimUID = "restored" }, ""},
		{"one whose volume is not known yet may not start", func(s *scene) { s.Members[1].Pod.ClaimUID = "" }, ""},
		{"one without a pod may not start", func(s *scene) { s.Members[1].Pod = Pod{} }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.arrange(s)
			got := s.Permit(s.Members[1])
			if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestAMemberThatFormsKnowsOnlyThoseThatForm(t *testing.T) {
	s := newScene()
	s.Members[2].Record.Joined = true
	if first := s.Permit(s.Members[0]); strings.Contains(first, "a-2=") {
		t.Errorf("it waits for one that comes later: %s", first)
	}
	if later := s.Permit(s.Members[2]); !strings.Contains(later, "a-0=") || !strings.Contains(later, "a-2=") {
		t.Errorf("it does not know all: %s", later)
	}
}
