package redis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// stampOf tells what the data is worth that a node starts from, by its volume's stamp. Without storage the
// record tells, which knows the nodes by name.
func (s situation) stampOf(name string) stamp {
	rep := s.Status.Replication
	if rep == nil || len(s.volumes) > 0 {
		return s.volumes[name].stamp
	}
	is := stamp{epoch: rep.Epoch, replID: rep.ReplID}
	if _, counted := s.memberNamed(name); name == rep.Master.Name {
		is.standing = leading
	} else if counted {
		is.standing = synced
	}
	return is
}

// promoteFromVolumes begins again from what nodes were started with, when no process is left that could tell
// more. Those that were in sync in the newest epoch decide: first the master, unless its disk was emptied. It
// returns false when no node was ever worth anything.
func (s situation) promoteFromVolumes(begin step, missing []string) (step, bool) {
	top := s.newestStamp()
	newest, older := s.rankedByWorth(top)
	holds := len(newest) > 0 && newest[0].Keys > 0
	switch {
	case holds && !newest[0].deleting && s.stampOf(newest[0].name).standing == leading:
	case len(missing) > 0:
		return step{do: wait, message: explain(begin.evidence, "waiting for "+strings.Join(missing, ", ")), requeueAfter: 4 * shortRequeue}, true
	case len(newest) == 0 && len(older) > 0:
		return step{do: wait, message: explain(begin.evidence, fmt.Sprintf("waiting for %s, whose volume is of the newest epoch; to begin without it, and without what only it holds, delete its PersistentVolumeClaim", strings.Join(s.newestVolumes(), ", "))), requeueAfter: 10 * shortRequeue}, true
	case holds:
	case len(older) > 0:
		return s.promoteFromOlder(begin, newest, older), true
	case len(newest) == 0 || top.epoch == 0:
		return step{}, false
	case s.Status.Replication != nil: // what there was, was nothing
		begin.reason = commonv1.ReasonDatasetLost
	}
	begin.nodes = []string{newest[0].name}
	return begin, true
}

// rankedByWorth are the nodes of the newest epoch that were in sync, and the others that hold
// anything, the best of each first.
func (s situation) rankedByWorth(top stamp) (newest, older []member) {
	for _, m := range s.where(member.answers) {
		if is := s.stampOf(m.name); is.epoch == top.epoch && is.isTrusted() == top.isTrusted() {
			newest = append(newest, m)
		} else if m.Keys > 0 {
			older = append(older, m)
		}
	}
	s.sortByWorth(newest)
	s.sortByWorth(older)
	return newest, older
}

// newestStamp is the stamp of the best of the nodes.
func (s situation) newestStamp() stamp {
	var top stamp
	for _, name := range append(slices.Sorted(maps.Keys(s.volumes)), namesOf(s.members)...) {
		if is := s.stampOf(name); is.compare(top) > 0 {
			top = is
		}
	}
	return top
}

// promoteFromOlder asks a human, or goes on as a human allowed, where the nodes that were in sync last hold
// nothing, and another does.
func (s situation) promoteFromOlder(begin step, newest, older []member) step {
	if !s.isUnsafeAllowed() {
		return s.askAboutEmptied(begin.evidence, newest, older)
	}
	begin.nodes, begin.unsafe = []string{newest[0].name}, true
	if s.SwitchoverTo != nil && slices.Contains(namesOf(older), *s.SwitchoverTo) {
		begin.nodes = []string{*s.SwitchoverTo}
	}
	return begin
}

// sortByWorth sorts nodes: those that hold anything first, then by what their volumes are worth, by offset
// within the same history, and by keys.
func (s situation) sortByWorth(nodes []member) {
	slices.SortStableFunc(nodes, func(a, b member) int {
		further := 0
		if a.ReplID == b.ReplID {
			further = cmp.Compare(b.Offset, a.Offset)
		}
		return cmp.Or(boolToInt(b.Keys > 0)-boolToInt(a.Keys > 0), s.stampOf(b.name).compare(s.stampOf(a.name)), further,
			cmp.Compare(b.Keys, a.Keys))
	})
}

// askAboutEmptied asks a human whether the data set was emptied on purpose: the newest volumes hold nothing, as
// after a lost disk, or after an application that deletes what it has done.
func (s situation) askAboutEmptied(evidence string, newest, older []member) step {
	return step{do: block, requeueAfter: 10 * shortRequeue, message: explain(evidence, fmt.Sprintf(
		"%s, in sync last, started with no key; %s, which was behind, with %d. %s; to go on with the data of the latter instead, annotate it with %s=%s, too",
		strings.Join(namesOf(newest), ", "), older[0].name, older[0].Keys,
		s.howToAllow("If it is right that there are no keys"), cachev1alpha1.RedisSwitchover, older[0].name))}
}

// explain joins what is known of the master with what is waited for.
func explain(evidence, why string) string {
	if evidence == "" {
		return why
	}
	return evidence + "; " + why
}
