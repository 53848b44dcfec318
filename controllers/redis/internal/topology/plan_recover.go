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

// stampOf says what the data that a node starts from is worth: by its volume's stamp or, without storage, by the record,
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

// promoteFromVolumes starts again from what nodes were started with, when no process is left that could show
// more. Those that were in sync in the newest epoch decide: the master at once, unless its disk was emptied, if each
// file has all writes; else, once all of them have started, the one with the furthest snapshot. It returns false when
// no node was ever worth anything.
func (s Situation) promoteFromVolumes(start Step, missing []string) (Step, bool) {
	top := s.newestStamp()
	newest, older := s.rankedByWorth(top)
	hasKeys := len(newest) > 0 && newest[0].Keys > 0
	snapshots := s.snapshotsToHear(top)
	switch {
	case !hasKeys || len(snapshots) == 0:
	case !s.isUnsafeAllowed():
		return s.awaitSnapshots(start.Evidence, newest[0], snapshots), true
	default:
		start.Unsafe = true
	}
	switch {
	case hasKeys && !newest[0].Deleting && s.decides(newest[0]):
	case len(missing) > 0:
		return Step{Do: Wait, RequeueAfter: 4 * ShortRequeue, Message: explain(start.Evidence, fmt.Sprintf(
			"before a master is chosen, these nodes must start and load their data, which may be the newest: %s; if they do not, see the events "+
				"and logs of their pods",
			strings.Join(missing, ", ")))}, true
	case len(newest) == 0 && len(older) > 0:
		return Step{Do: Wait, RequeueAfter: 10 * ShortRequeue, Message: explain(start.Evidence, fmt.Sprintf(
			"the newest data is only on volumes whose nodes do not answer: %s; to start with older data, and lose what only these volumes have, "+
				"delete their PersistentVolumeClaims",
			strings.Join(s.newestVolumes(), ", ")))}, true
	case hasKeys:
	case len(older) > 0:
		return s.resolveEmptied(start, newest, older), true
	case len(newest) == 0 || top.Epoch == 0:
		return Step{}, false
	case s.Status.Replication != nil: // what there was, was nothing
		start.Reason = commonv1.ReasonDatasetLost
	}
	start.NodeNames = []string{newest[0].Name}
	return start, true
}

// decides reports whether the best node that was heard becomes master, whatever the nodes have that are missing: it was the
// master, or it has the furthest snapshot of those that were in sync.
func (s Situation) decides(best Node) bool {
	is := s.stampOf(best.Name)
	return is.Standing == Leading || !s.filesHaveAllWrites() && is.isTrusted()
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
	s.sortByWorth(newest, top.ReplID)
	s.sortByWorth(older, "")
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

// resolveEmptied handles a Redis whose nodes that were in sync last hold no key, while another does. It asks a human. Once
// allowed, it promotes the best of the empty nodes, or the node with keys that the switchover annotation names.
func (s Situation) resolveEmptied(start Step, newest, older []Node) Step {
	if !s.isUnsafeAllowed() {
		return s.askAboutEmptied(start.Evidence, newest, older)
	}
	start.NodeNames, start.Unsafe = []string{newest[0].Name}, true
	if s.SwitchoverTo != nil && slices.Contains(NamesOf(older), *s.SwitchoverTo) {
		start.NodeNames = []string{*s.SwitchoverTo}
	}
	return start
}

// sortByWorth sorts nodes: those that hold anything first, then by what their volumes are worth, and by keys. Of
// snapshots, those of the given history come before those of another, which were taken before it. Within one history the
// furthest is first, unless the first was the master and its file has all writes.
func (s Situation) sortByWorth(nodes []Node, history string) {
	complete := s.filesHaveAllWrites()
	slices.SortStableFunc(nodes, func(a, b Node) int {
		later := 0
		if !complete {
			later = boolToInt(b.ReplID == history) - boolToInt(a.ReplID == history)
		}
		return cmp.Or(boolToInt(b.Keys > 0)-boolToInt(a.Keys > 0), later, s.stampOf(b.Name).compare(s.stampOf(a.Name)),
			cmp.Compare(b.Keys, a.Keys))
	})
	if len(nodes) > 0 && (!complete || s.stampOf(nodes[0].Name).Standing != Leading) {
		putFurthestFirst(nodes)
	}
}

// askAboutEmptied asks a human whether the data set was emptied on purpose: the newest volumes hold nothing, as
// after a lost disk, or after an application that deletes what it has done.
func (s Situation) askAboutEmptied(evidence string, newest, older []Node) Step {
	return Step{Do: Block, RequeueAfter: 10 * ShortRequeue, Message: explain(evidence, fmt.Sprintf(
		"the nodes with the newest data started without keys: %s; %s has %d keys, which may be out of date. "+
			"%s: the Redis starts empty. If they were lost, annotate it with %s=%s as well: the Redis starts with the keys of %s",
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
