package membership

import (
	"fmt"
	"slices"
	"strings"
)

// laterEdits says which edits of the spec follow only once the cluster has formed; nothing if there are none. Who forms it, and with which
// minor version, is recorded, as the members must agree on it. What else pods are made from follows at once.
func (s Situation) laterEdits() string {
	record := s.Status.Membership
	now, err := ParseVersion(s.Status.TargetVersion)
	if record.ClusterID != "" || err != nil {
		return ""
	}
	var edits []string
	if forms := len(record.Members); !s.hasBackup() && forms != int(min(s.Size, formingMembers)) {
		edits = append(edits, fmt.Sprintf("spec.size to %d", s.Size))
	}
	switch {
	case s.WantedError != "":
		edits = append(edits, "spec.version, which cannot be carried out: "+s.WantedError)
	case s.Wanted.Minor != now.Minor:
		edits = append(edits, "spec.version to "+s.Wanted.String())
		if s.Image != "" && s.Image != s.Status.TargetImage {
			edits = append(edits, "spec.image to "+s.Image)
		}
	}
	if len(edits) == 0 {
		return ""
	}
	return fmt.Sprintf("; the cluster is formed by %s with etcd %s (%s), as the spec was when it started, "+
		"and the edit of %s follows once it has formed%s",
		strings.Join(NamesOf(s.recorded()), ", "), now, s.Status.TargetImage, strings.Join(edits, ", and of "), s.adviseOnUnformed())
}

// adviseOnUnformed says what to do if the cluster cannot form without a human: so many pods fail that the others are no majority. While
// images are being pulled, time is all that it takes. Only a cluster in which provably no server ran has nothing to lose.
func (s Situation) adviseOnUnformed() string {
	members := s.recorded()
	fails := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return !m.Pod.Fails })
	if len(members)-len(fails) > len(members)/2 {
		return ""
	}
	advice := ": correct what keeps the pods from starting, or take the edit back"
	if slices.ContainsFunc(members, func(m Member) bool { return !m.neverStarted() }) {
		return advice
	}
	return advice + "; or delete this EtcdCluster, in which no server has run, and create it again"
}

// recorded are the members in the record.
func (s Situation) recorded() []Member {
	return s.Where(func(m Member) bool { return m.Record != nil })
}
