package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// stampOf tells what the data that a node starts from is worth: by its volume's stamp or, without storage, by the record,
// which knows the nodes by name.
func (s Situation) stampOf(name string) Stamp {
	rep := s.Status.Replication
	if rep == nil || len(s.Volumes) > 0 {
		return s.Volumes[name].Stamp
	}
	is := Stamp{Epoch: rep.Epoch, ReplID: rep.ReplID}
	if _, counted := s.memberNamed(name); name == rep.Master.Name {
		is.Standing = Leading
	} else if counted {
		is.Standing = Synced
	}
	return is
}

// promoteFromVolumes begins again from what nodes were started with, when no process is left that could tell
// more. Those that were in sync in the newest epoch decide: first the master, unless its disk was emptied. It
// returns false when no node was ever worth anything.
func (s Situation) promoteFromVolumes(begin Step, missing []string) (Step, bool) {
	top := s.newestStamp()
	newest, older := s.rankedByWorth(top)
	hasKeys := len(newest) > 0 && newest[0].Keys > 0
	switch {
	case hasKeys && !newest[0].Deleting && s.stampOf(newest[0].Name).Standing == Leading:
	case len(missing) > 0:
		return Step{Do: Wait, RequeueAfter: 4 * ShortRequeue, Message: explain(begin.Evidence, fmt.Sprintf(
			"before a master is chosen, these nodes must start and load their data, which may be the newest: %s; if they do not, see the events and logs of their pods",
			strings.Join(missing, ", ")))}, true
	case len(newest) == 0 && len(older) > 0:
		return Step{Do: Wait, RequeueAfter: 10 * ShortRequeue, Message: explain(begin.Evidence, fmt.Sprintf(
			"the newest data is only on volumes whose nodes do not answer: %s; to begin with older data, and lose what only these volumes have, delete their PersistentVolumeClaims",
			strings.Join(s.newestVolumes(), ", ")))}, true
	case hasKeys:
	case len(older) > 0:
		return s.resolveEmptied(begin, newest, older), true
	case len(newest) == 0 || top.Epoch == 0:
		return Step{}, false
	case s.Status.Replication != nil: // what there was, was nothing
		begin.Reason = commonv1.ReasonDatasetLost
	}
	begin.NodeNames = []string{newest[0].Name}
	return begin, true
}

// rankedByWorth returns, the best first, the nodes whose stamp has the epoch and the trust of top, and the others that hold
// a key.
func (s Situation) rankedByWorth(top Stamp) (newest, older []Node) {
	for _, m := range s.Where(Node.Answers) {
		if is := s.stampOf(m.Name); is.Epoch == top.Epoch && is.isTrusted() == top.isTrusted() {
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
func (s Situation) newestStamp() Stamp {
	var top Stamp
	for _, name := range append(slices.Sorted(maps.Keys(s.Volumes)), NamesOf(s.Nodes)...) {
		if is := s.stampOf(name); is.compare(top) > 0 {
			top = is
		}
	}
	return top
}

// resolveEmptied handles a set whose nodes that were in sync last hold no key, while another does. It asks a human. Once
// allowed, it promotes the best of the empty nodes, or the node with keys that the switchover annotation names.
func (s Situation) resolveEmptied(begin Step, newest, older []Node) Step {
	if !s.isUnsafeAllowed() {
		return s.askAboutEmptied(begin.Evidence, newest, older)
	}
	begin.NodeNames, begin.Unsafe = []string{newest[0].Name}, true
	if s.SwitchoverTo != nil && slices.Contains(NamesOf(older), *s.SwitchoverTo) {
		begin.NodeNames = []string{*s.SwitchoverTo}
	}
	return begin
}

// sortByWorth sorts nodes: those that hold anything first, then by what their volumes are worth, by offset
// within the same history, and by keys.
func (s Situation) sortByWorth(nodes []Node) {
	slices.SortStableFunc(nodes, func(a, b Node) int {
		further := 0
		if a.ReplID == b.ReplID {
			further = cmp.Compare(b.Offset, a.Offset)
		}
		return cmp.Or(boolToInt(b.Keys > 0)-boolToInt(a.Keys > 0), s.stampOf(b.Name).compare(s.stampOf(a.Name)), further,
			cmp.Compare(b.Keys, a.Keys))
	})
}

// askAboutEmptied asks a human whether the data set was emptied on purpose: the newest volumes hold nothing, as
// after a lost disk, or after an application that deletes what it has done.
func (s Situation) askAboutEmptied(evidence string, newest, older []Node) Step {
	return Step{Do: Block, RequeueAfter: 10 * ShortRequeue, Message: explain(evidence, fmt.Sprintf(
		"the nodes with the newest data started without keys: %s; %s has %d keys, which may be out of date. "+
			"%s: the set begins empty. If they were lost, annotate it with %s=%s as well: the set begins with the keys of %s",
		strings.Join(NamesOf(newest), ", "), older[0].Name, older[0].Keys,
		s.howToAllow("If the keys were deleted on purpose"), cachev1alpha1.RedisSwitchover, older[0].Name, older[0].Name))}
}

// explain joins what is known of the master with what is waited for.
func explain(evidence, why string) string {
	if evidence == "" {
		return why
	}
	return evidence + "; " + why
}
