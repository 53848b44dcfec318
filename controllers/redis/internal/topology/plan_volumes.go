package topology

import (
	"maps"
	"slices"
)

// newestVolumes are the nodes whose volumes may hold what no other does: in the highest epoch, the master's or
// else those that were in sync.
func (w World) newestVolumes() []string {
	var top Stamp
	for _, v := range w.Volumes {
		if v.compare(top) > 0 {
			top = v.Stamp
		}
	}
	if top.Epoch == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(w.Volumes))
	return slices.DeleteFunc(names, func(name string) bool { return w.Volumes[name].compare(top) != 0 })
}

// volumesToHear are the nodes whose volumes may hold what no other does, by what their files show: a snapshot of a node that
// was in sync may be further than the master's.
func (s Situation) volumesToHear() []string {
	newest := s.newestVolumes()
	if len(newest) == 0 || s.filesHaveAllWrites() {
		return newest
	}
	top := s.Volumes[newest[0]].Stamp
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Volumes)), func(name string) bool {
		is := s.Volumes[name].Stamp
		return is.Epoch != top.Epoch || is.isTrusted() != top.isTrusted()
	})
}

// MaxStampedEpoch is the highest epoch that any volume bears.
func (w World) MaxStampedEpoch() int64 {
	if newest := w.newestVolumes(); len(newest) > 0 {
		return w.Volumes[newest[0]].Epoch
	}
	return 0
}

// nodesToHear are the nodes that must still be heard before there is a first master again: those of the size, and
// those beyond it whose volumes may hold the latest.
func (s Situation) nodesToHear() []string {
	list := append(s.NodeNames(), s.volumesToHear()...)
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(name string) bool {
		m, _ := s.Find(name)
		return m.Answers() && !m.Deleting
	})
}

// DueStamp is the stamp that the node's volume should bear now. One of an earlier epoch may stay: it ranks lower
// as it is.
func (s Situation) DueStamp(name string) Stamp {
	rep := s.Status.Replication
	was, now := s.Volumes[name].Stamp, Stamp{Epoch: rep.Epoch, ReplID: rep.ReplID}
	m, _ := s.Find(name)
	p, counted := s.memberNamed(name)
	switch {
	case name == rep.Master.Name:
		now.Standing = Leading
	case s.isMember(m) && m.InSync(s.RecordedMaster(rep.Master)):
		now.Standing = Synced
	case was.Epoch < rep.Epoch:
		return was
	case was.Standing == Synced && counted && (m.IsProcess(p) || !s.hasLeft(p)): // its link is down for a moment
		return was
	}
	return now
}

// volumesToStamp are the volumes that bear another stamp than is due, if the test holds for the standing that is due.
func (s Situation) volumesToStamp(matches func(Standing) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Volumes)), func(name string) bool {
		desired := s.DueStamp(name)
		return desired == s.Volumes[name].Stamp || !matches(desired.Standing)
	})
}

// stampVolumes writes what must stand on the volumes before a write can be confirmed without it: that this one
// is the master's, and that a node which is gone is behind.
func (s Situation) stampVolumes(Node) (Step, bool) {
	list := s.volumesToStamp(func(due Standing) bool { return due != Synced })
	return Step{Do: StampVolumes, NodeNames: list}, len(list) > 0
}

// VolumesInSync are the volumes that have come to be in sync and are not stamped so yet.
func (s Situation) VolumesInSync() []string {
	if _, serving := s.ServingMaster(); !serving {
		return nil
	}
	return s.volumesToStamp(func(due Standing) bool { return due == Synced })
}
