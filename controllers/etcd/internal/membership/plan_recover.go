package membership

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// recoverMajority continues from the data of one member, or starts over without any, when a majority of the members has lost theirs and a
// human has allowed it. A member that does not answer is not lost: its pod may come back with its data. What a human allows is
// bound to what was seen, by a token.
func (s Situation) recoverMajority() (Step, bool) {
	voters := s.Where(Member.countedInRecord)
	lost := s.Where(func(m Member) bool { return m.countedInRecord() && s.hasLostData(m) })
	if len(voters)-len(lost) > len(voters)/2 || s.Status.Membership.ClusterID == "" {
		return Step{}, false
	}
	left := s.Where(func(m Member) bool { return m.Record != nil && !s.hasLostData(m) && !m.hasNothingYet() })
	if len(left) > 0 && !s.HasStorage {
		return Step{Do: Block, Reason: commonv1.ReasonQuorumLost, Message: fmt.Sprintf(
			"%s have lost their data, and with it the majority. Without storage a restart would lose what %s has: save it with etcdctl snapshot "+
				"save, and make a new EtcdCluster",
			strings.Join(NamesOf(lost), ", "), strings.Join(NamesOf(left), ", "))}, true
	}
	if silent := slices.DeleteFunc(slices.Clone(left), Member.showsItsData); len(silent) > 0 {
		return Step{Do: Block, Reason: commonv1.ReasonQuorumLost, RequeueAfter: time.Second, Message: fmt.Sprintf(
			"%s have lost their data, and with it the majority; whose data is the latest is known once the pods of %s run",
			s.describeLost(lost), strings.Join(NamesOf(silent), ", "))}, true
	}
	survivor, from := s.chooseSurvivor(lost, left)
	if survivor.View.IsLearner || survivor.View.Waits && !survivor.countedInRecord() {
		return Step{Do: Block, Reason: commonv1.ReasonQuorumLost, Message: fmt.Sprintf(
			"%s have lost their data, and with it the majority; %s has the latest data and is a learner, which etcd cannot make a cluster of: "+
				"copy its member/snap/db, and restore that into a new EtcdCluster",
			strings.Join(NamesOf(lost), ", "), survivor.Name)}, true
	}
	token := s.recoveryToken(lost, left)
	if s.AllowedRecovery != token {
		return Step{Do: Block, Reason: commonv1.ReasonQuorumLost, Message: fmt.Sprintf(
			"%s have lost their data, and with it the majority. To continue %s, and lose confirmed writes that only they had, annotate this "+
				"object with %s=%s",
			s.describeLost(lost), from, databasev1alpha1.EtcdAllowUnsafeRecovery, token)}, true
	}
	if survivor.Name == "" {
		return s.form(), true
	}
	given := s.Where(func(m Member) bool { return m.Record != nil && m.Name != survivor.Name })
	return Step{Do: Recover, Member: survivor.Name, Lost: NamesOf(given), Message: "a human has allowed it"}, true
}

// chooseSurvivor returns the member whose data the cluster is to continue from, and says so; the zero Member if there is no data. An
// earlier state of a disk is only taken where nothing else is left.
func (s Situation) chooseSurvivor(lost, left []Member) (survivor Member, from string) {
	if len(left) > 0 {
		survivor = slices.MaxFunc(left, func(a, b Member) int { return compareLogs(a.View, b.View) })
		return survivor, fmt.Sprintf("from the data of %s, revision %d", survivor.Name, survivor.View.Revision)
	}
	if earlier, ok := s.latestEarlierState(lost); ok {
		return earlier, "from the data of " + earlier.Name + ", whose log ends last"
	}
	return Member{}, s.withoutData()
}

// hasNothingYet reports whether a member has never been a voter and has no entry of the log: it has not started, or has not met the
// leader.
func (m Member) hasNothingYet() bool {
	started := m.Record.StartedBy != "" && (m.Record.StartedBy != m.Pod.UID || m.Pod.HasRun)
	return !m.countedInRecord() && !m.View.Answered && (!started || m.View.Waits && m.View.Index == 0)
}

// showsItsData reports whether it is known up to where the member's data goes.
func (m Member) showsItsData() bool { return m.View.Answered || m.View.Waits }

// countedInRecord reports whether a recorded member counts for the majority: it formed the cluster, or was promoted.
func (m Member) countedInRecord() bool { return m.Record != nil && (m.Record.Ran || !m.Record.Joined) }

// formIfAllowed starts a cluster without any data, because the member is lost from whose data the cluster was to continue.
func (s Situation) formIfAllowed(survivor Member) Step {
	token := s.recoveryToken([]Member{survivor}, nil)
	if s.AllowedRecovery == token {
		return s.form()
	}
	return Step{Do: Block, Reason: commonv1.ReasonQuorumLost, Message: fmt.Sprintf(
		"%s, from whose data the cluster was to continue, has lost it. To start %s, annotate this object with %s=%s",
		survivor.Name, s.withoutData(), databasev1alpha1.EtcdAllowUnsafeRecovery, token)}
}

// compareLogs is positive if a knows of more committed entries. etcd shows neither the last entry of a member's log nor its term;
// the term that it shows is the current one, which a member may have only heard of, and one that waits shows none.
func compareLogs(a, b View) int {
	return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Term, b.Term))
}

// recoveryToken differs with what was seen: which members have lost their data, and what each of the others has. A server that has
// just started may know of less than it did a moment later.
func (s Situation) recoveryToken(lost, left []Member) string {
	seen := []string{s.Status.Membership.ClusterID}
	for _, m := range left {
		seen = append(seen, m.Name, fmt.Sprint(m.View.Index, m.View.Revision))
	}
	for _, m := range lost {
		seen = append(seen, m.Record.DataID)
		if s.hasEarlierState(m) {
			seen = append(seen, m.Pod.Earlier.String())
		}
	}
	return tokenOf(seen...)
}

// tokenOf is a short hash of the words.
func tokenOf(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\n")))
	return hex.EncodeToString(sum[:])[:12]
}

// recovery names the recovery that is recorded; empty if there is none.
func (s Situation) recovery() string {
	if c := s.Status.Membership.Change; c != nil && c.Type == databasev1alpha1.EtcdRecover {
		return c.Recovery
	}
	return ""
}

// IsRecovering reports whether a recovery is recorded.
func (s Situation) IsRecovering() bool { return s.recovery() != "" }

// mayRecover reports whether the pod may be permitted to start, by the recovery that is recorded. One that was permitted
// to do anything but take part in it may not, as its server may run with the members that are lost; nor may any while a server
// of those that were given up may still run.
func (s Situation) mayRecover(m Member) bool {
	if s.recovery() == "" {
		return true
	}
	return (m.Pod.Permit == "" || s.recovers(m)) && len(s.givenUp()) == 0
}

// recovers reports whether the pod was permitted to take part in the recovery that is recorded.
func (s Situation) recovers(m Member) bool {
	permit, _ := ParsePermit(m.Pod.Permit) // one that cannot be read says nothing
	return permit.Force == s.recovery()
}

// givenUp are the members other than the one that a recovery continues from, while their pods may run.
func (s Situation) givenUp() []Member {
	return s.Where(func(o Member) bool { return o.Name != s.Status.Membership.Change.Name && o.Pod.Permit != "" })
}

// finishRecovery continues with a recovery that is recorded. All earlier pods are stopped. The next one of the member is asked
// to make it a cluster of one, which it does once before anybody is served, and then serves (package launcher). What only a human can
// decide comes first: a pod that answers and was given up may have the next best data, so it stays until then. Without the other
// members it has no majority, and accepts no write.
func (s Situation) finishRecovery() (Step, bool) {
	if s.recovery() == "" {
		return Step{}, false
	}
	name := s.Status.Membership.Change.Name
	m, _ := s.Find(name)
	if s.hasLostData(m) {
		return s.formIfAllowed(m), true
	}
	if m.Pod.RecoveredTo > 0 && s.recovers(m) {
		return s.recoverBelow(m), true
	}
	former := s.givenUp()
	if m.Pod.Permit != "" && !s.recovers(m) {
		if m.Pod.ClaimGoes { // its pod alone keeps the volume
			return Step{Do: Block, Reason: commonv1.ReasonQuorumLost, Message: fmt.Sprintf(
				"the cluster is to continue from the data of %s, and somebody has deleted its PersistentVolumeClaim: the data would go with the "+
					"pod. Save it from the pod with etcdctl snapshot save, or copy its member/snap/db, and restore that into a new EtcdCluster",
				name)}, true
		}
		former = append(former, m)
	}
	for _, o := range former {
		if !o.Pod.Deleting {
			return Step{Do: DeletePod, Member: o.Name, NeedsClaim: o.Name == name, Message: "it was to run with members that are lost",
				RequeueAfter: ShortRequeue}, true
		}
	}
	if len(former) == 0 && s.Listed && m.IsHealthy() {
		return Step{Do: EndRecovery, Member: name}, true
	}
	if next, ok := s.blockWhileLockedOut(); ok && len(former) == 0 {
		return next, true
	}
	return Step{Do: Wait, Message: "waiting for " + name + ", from whose data the cluster continues", RequeueAfter: ShortRequeue}, true
}
