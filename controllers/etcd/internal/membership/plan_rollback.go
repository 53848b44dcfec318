package membership

import (
	"fmt"
	"slices"
	"strings"
)

// Members can return to the former minor version until they have agreed on the next one. etcd calls that the cluster version: its leader
// raises it when every member, learners included, answers that it runs the next version (decideClusterVersion in
// server/etcdserver/version/monitor.go; of 3.5, in server/etcdserver/cluster_util.go), and the schema of the data follows it. So while one
// member runs the former version, all may return, also those that have started with the next one
// (https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/#downgrade).

// rollBack rolls back the upgrade to a minor version while a member that runs the former one proves that all can return. The version and
// the image are those that this member runs. The backup before the upgrade is deleted first: the next attempt makes its own.
func (s Situation) rollBack() (Step, bool) {
	former, ok := s.FormerMember()
	if !ok {
		return Step{}, false
	}
	const why = "the upgrade is rolled back"
	if i := slices.IndexFunc(s.Backups, func(b Backup) bool { return b.Own && !b.Deleting }); i >= 0 {
		return s.deleteUpgradeBackup(s.Backups[i], why), true
	}
	next := s.setVersion(former.View.Version, former.Pod.Image)
	next.Message = why
	if s.Image != "" {
		next.Image = s.Image
	}
	return next, true
}

// FormerMember returns a voter that proves by the version that it runs that the members have not agreed on the version that pods are made
// with, where the spec asks for the minor version before that one. The others must not contradict it.
func (s Situation) FormerMember() (Member, bool) {
	now, err := ParseVersion(s.Status.TargetVersion)
	if err != nil || s.WantedError != "" || s.Wanted.Minor != now.Minor-1 {
		return Member{}, false
	}
	heard := s.heard()
	if slices.ContainsFunc(heard, func(m Member) bool { return m.View.ClusterVersion != s.Wanted.MinorString() }) {
		return Member{}, false
	}
	i := slices.IndexFunc(heard, func(m Member) bool { return m.Record != nil && m.ProvesFormer(m.View, s.Wanted.Minor) })
	if i < 0 {
		return Member{}, false
	}
	return heard[i], true
}

// ProvesFormer reports whether a member that says this of itself is one without which the members cannot agree on a later minor version.
func (m Member) ProvesFormer(view View, minor int) bool {
	return (view.Answered || view.Waits) && !view.IsLearner && view.Version.Minor == minor &&
		view.ClusterVersion == view.Version.MinorString()
}

// goForward follows members that have agreed on a later minor version than pods are made with: no pod of an earlier version can start on
// their data. The last member of that version may have gone just as the upgrade was rolled back, or an earlier status was restored.
func (s Situation) goForward() (Step, bool) {
	now, err := ParseVersion(s.Status.TargetVersion)
	later := s.Where(func(m Member) bool {
		_, isKnown := newest[m.View.Version.Minor] // a server that lies must not lead to one that no spec can name
		return m.Record != nil && m.View.Answered && m.View.Version.Minor > now.Minor && isKnown &&
			m.View.ClusterVersion == m.View.Version.MinorString()
	})
	if err != nil || len(later) == 0 {
		return Step{}, false
	}
	next := s.setVersion(later[0].View.Version, later[0].Pod.Image)
	next.Message = "the members have agreed on etcd " + later[0].View.ClusterVersion
	return next, true
}

// mayBeEarlier reports whether a pod that may not start yet may be of an earlier minor version than the members have agreed on: no member
// runs with its image, and pods are made with another, or are yet to be made with that version. So it is if the last member of the former
// version loses its data during a rollback: the others agree without it.
func (s Situation) mayBeEarlier(m Member) bool {
	agreed := 0
	for _, o := range s.heard() {
		if o.View.ClusterVersion == o.View.Version.MinorString() {
			agreed = max(agreed, o.View.Version.Minor)
		}
	}
	now, err := ParseVersion(s.Status.TargetVersion)
	if err != nil || agreed == 0 || m.Pod.Permit != "" || m.Pod.Image == s.Status.TargetImage && now.Minor >= agreed {
		return false
	}
	return !slices.ContainsFunc(s.heard(), func(o Member) bool { return o.Pod.Image == m.Pod.Image && o.View.Version.Minor >= agreed })
}

// deleteEarlierPods deletes a pod that may not start because its version may be an earlier one.
func (s Situation) deleteEarlierPods() (Step, bool) {
	for _, m := range s.Members {
		if m.Record != nil && m.Pod.UID != "" && !m.Pod.Deleting && !m.Pod.ClaimGoes && s.mayBeEarlier(m) {
			return Step{Do: DeletePod, Member: m.Name, AsSeen: true, NeedsClaim: s.needsClaim(m), RequeueAfter: ShortRequeue,
				Message: "it has not started, and its image may hold an earlier version than the members have agreed on"}, true
		}
	}
	return Step{}, false
}

// heard are the members whose servers were heard.
func (s Situation) heard() []Member {
	return s.Where(func(m Member) bool { return m.View.Answered || m.View.Waits })
}

// explainNoRollback says why the members do not return to the minor version that the spec asks for, and what to do. It is empty if the spec
// asks for no earlier one than that of the pods.
func (s Situation) explainNoRollback() string {
	now, err := ParseVersion(s.Status.TargetVersion)
	if err != nil || s.WantedError != "" || s.Wanted.Minor >= now.Minor {
		return ""
	}
	agreed := s.Where(func(m Member) bool { return m.View.ClusterVersion == now.MinorString() })
	why := fmt.Sprintf("no member answers that runs etcd %s, so whether the members can return to it is not known", s.Wanted.MinorString())
	if len(agreed) > 0 {
		why = fmt.Sprintf("%s have agreed on etcd %s, and etcd %s cannot read their data", strings.Join(NamesOf(agreed), ", "),
			now.MinorString(), s.Wanted.MinorString())
	}
	return fmt.Sprintf("version: %s: set version to %q again; to have the former data with etcd %s, restore a backup into a new EtcdCluster",
		why, now.MinorString(), s.Wanted.MinorString())
}
