package membership

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// scene is a situation that a row changes.
type scene struct{ Situation }

// newScene is a cluster of three with storage, at rest: a-0 leads.
func newScene() *scene {
	s := &scene{Situation{
		Spec: Spec{Name: "a", Namespace: "ns", Size: 3, HasStorage: true, Wanted: Version{6, 16},
			DefaultImages: []string{"etcd:v3.5.35", "etcd:v3.6.16", "etcd:v3.7.3"}},
		Status: &databasev1alpha1.EtcdClusterStatus{TargetVersion: "3.6.16", TargetImage: "etcd:v3.6.16",
			Membership: &databasev1alpha1.EtcdMembership{Token: "t", ClusterID: "c", InitialVersion: "3.6.16"}},
		World: World{Listed: true, ClusterID: 12},
	}}
	for range 3 {
		s.addVoter()
	}
	return s
}

// addVoter adds a healthy member with the next ordinal.
func (s *scene) addVoter() {
	i := len(s.Members)
	name, uid, id := fmt.Sprintf("a-%d", i), types.UID(fmt.Sprintf("pod-%d", i)), uint64(100+i)
	s.Status.Membership.Members = append(s.Status.Membership.Members, databasev1alpha1.EtcdRecordedMember{
		Name: name, ID: FormatID(id), DataID: fmt.Sprintf("d%d", i), StartedBy: uid, ClaimUID: claimOf(i), Ran: true})
	s.Members = append(s.Members, Member{
		Name:   name,
		Listed: &ListedMember{ID: id, Name: name, PeerURL: s.PeerURL(name)},
		Pod:    Pod{UID: uid, ClaimUID: claimOf(i), Address: "10.0.0.1", Image: "etcd:v3.6.16", Ready: true, HasRun: true},
		View:   View{Answered: true, ID: id, ClusterID: 12, Leader: 100, Version: Version{6, 16}, ClusterVersion: "3.6", Term: 2, Index: 50},
	})
	s.link()
	m := &s.Members[i]
	m.Pod.Permit = s.Permit(*m)
}

// claimOf is the claim of that member's volume.
func claimOf(i int) types.UID { return types.UID(fmt.Sprintf("claim-%d", i)) }

// addLearner adds a member that is still to be promoted.
func (s *scene) addLearner() {
	s.addVoter()
	m := &s.Members[len(s.Members)-1]
	m.Listed.IsLearner, m.View.IsLearner, m.Record.Joined, m.Record.Ran = true, true, true, false
}

// link points the members at their records, as observing them does.
func (s *scene) link() {
	for i := range s.Members {
		m := &s.Members[i]
		m.Record = nil
		for j := range s.Status.Membership.Members {
			if one := &s.Status.Membership.Members[j]; one.Name == m.Name {
				m.Record = one
			}
		}
	}
}

// forget takes a member off the record and out of etcd's list. Its pod stays.
func (s *scene) forget(i int) {
	members := s.Status.Membership.Members
	s.Status.Membership.Members = append(members[:i:i], members[i+1:]...)
	s.link()
	s.Members[i].Listed = nil
}

// silence makes a member not answer, and its pod not ready.
func (s *scene) silence(i int) {
	s.Members[i].View, s.Members[i].Pod.Ready = View{}, false
}

// outdate makes the pods of these members outdated.
func (s *scene) outdate(ordinals ...int) {
	for _, i := range ordinals {
		s.Members[i].Pod.Outdated = true
	}
}

// outdateWithoutMajority leaves only a-0 answering, so that there is no majority, and makes the pod of another member outdated.
func (s *scene) outdateWithoutMajority(i int) {
	s.Listed = false
	s.silence(1)
	s.silence(2)
	s.outdate(i)
}

// lead gives the lead to that member.
func (s *scene) lead(i int) {
	for j := range s.Members {
		s.Members[j].View.Leader = uint64(100 + i)
	}
}

// replacePod gives a member another pod, in which nothing has started.
func (s *scene) replacePod(i int) {
	s.silence(i)
	s.Members[i].Pod = Pod{UID: types.UID(fmt.Sprintf("new-pod-%d", i)), ClaimUID: claimOf(i), Image: s.Status.TargetImage}
}

// failToStart makes the pod of a member outdated and one that never ran, which is proven.
func (s *scene) failToStart(i int) {
	s.silence(i)
	s.outdate(i)
	s.Members[i].Record.Ran, s.Members[i].Pod.HasRun, s.Members[i].Pod.NeverRan = false, false, true
}

// loseData has the new pod of a member report that its data is not there.
func (s *scene) loseData(i int) {
	s.replacePod(i)
	s.Members[i].Pod.Permit = s.Permit(s.Members[i])
	s.Members[i].Pod.LostData = s.Members[i].Record.DataID
}

// notFormed makes it a cluster that was not seen to form, of which some members have lost their data.
func (s *scene) notFormed(lost ...int) {
	s.Status.Membership.ClusterID, s.Listed, s.ClusterID = "", false, 0
	for i := range s.Members {
		s.Members[i].Listed = nil
	}
	for _, i := range lost {
		s.loseData(i)
	}
}

// run sets the version that members run and have agreed on.
func (s *scene) run(v Version, agreed string, ordinals ...int) {
	for _, i := range ordinals {
		s.Members[i].View.Version, s.Members[i].View.ClusterVersion = v, agreed
	}
}

// fromOld makes it a cluster that was formed with 3.5 and is to go from 3.6 to 3.7.
func (s *scene) fromOld(readableFrom int64) {
	s.Wanted, s.Status.Membership.InitialVersion, s.Status.Membership.ReadableFrom = Version{7, 3}, "3.5.35", readableFrom
	for i := range s.Members {
		s.Members[i].View.Applied = 151
	}
}
