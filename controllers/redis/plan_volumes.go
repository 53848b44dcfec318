package redis

import (
	"maps"
	"slices"
)

// newestVolumes are the nodes whose volumes may hold what no other does: in the highest epoch, the master's or
// else those that were in sync.
func (w world) newestVolumes() []string {
	var top stamp
	for _, v := range w.volumes {
		if v.compare(top) > 0 {
			top = v.stamp
		}
	}
	if top.epoch == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(w.volumes))
	return slices.DeleteFunc(names, func(name string) bool { return w.volumes[name].compare(top) != 0 })
}

// maxStampedEpoch is the highest epoch that any volume bears.
func (w world) maxStampedEpoch() int64 {
	if newest := w.newestVolumes(); len(newest) > 0 {
		return w.volumes[newest[0]].epoch
	}
	return 0
}

// nodesToHear are the nodes that must still be heard before a first master is made anew: those of the size, and
// those beyond it whose volumes may hold the latest.
func (s situation) nodesToHear() []string {
	list := append(s.nodeNames(), s.newestVolumes()...)
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(name string) bool {
		m, _ := s.find(name)
		return m.answers() && !m.deleting
	})
}

// dueStamp is the stamp that the node's volume should bear now. One of an earlier epoch may stay: it ranks lower
// as it is.
func (s situation) dueStamp(name string) stamp {
	rep := s.Status.Replication
	was, now := s.volumes[name].stamp, stamp{epoch: rep.Epoch, replID: rep.ReplID}
	m, _ := s.find(name)
	p, counted := s.memberNamed(name)
	switch {
	case name == rep.Master.Name:
		now.standing = leading
	case s.isMember(m) && m.inSync(s.recordedMaster(rep.Master)):
		now.standing = synced
	case was.epoch < rep.Epoch:
		return was
	case was.standing == synced && counted && (m.isProcess(p) || !s.hasLeft(p)): // its link is down for a moment
		return was
	}
	return now
}

// volumesToStamp are the volumes that bear another stamp than is due, if the test holds for the standing that is due.
func (s situation) volumesToStamp(holds func(standing) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.volumes)), func(name string) bool {
		desired := s.dueStamp(name)
		return desired == s.volumes[name].stamp || !holds(desired.standing)
	})
}

// stampVolumes writes what must stand on the volumes before a write can be confirmed without it: that this one
// is the master's, and that a node which is gone is behind.
func (s situation) stampVolumes(member) (step, bool) {
	list := s.volumesToStamp(func(due standing) bool { return due != synced })
	return step{do: stampVolumes, nodes: list}, len(list) > 0
}

// volumesInSync are the volumes that have come to be in sync and are not stamped so yet.
func (s situation) volumesInSync() []string {
	if _, serving := s.servingMaster(); !serving {
		return nil
	}
	return s.volumesToStamp(func(due standing) bool { return due == synced })
}
