package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// A server that appends each write to a file starts with all that it had. One that takes snapshots starts with the last of
// them: the master's may be older than that of a replica. A snapshot names its history and the offset in it, so that those of
// one history compare.

// filesHaveAllWrites reports whether the file that a server starts from has all the writes that the server had, up to those of
// the last second.
func (s Situation) filesHaveAllWrites() bool {
	live := s.Settings.Live
	return live[config.AppendOnly] == config.YesNo(true) && live[config.AppendFsync] != config.AppendFsyncNo
}

// snapshotsToHear are the nodes that were in sync in the newest epoch, get a pod, and have not loaded their data yet: any of
// them may have the furthest snapshot. There are none if each file has all writes: then the master's is the furthest.
func (s Situation) snapshotsToHear(top Stamp) []string {
	if s.filesHaveAllWrites() || !top.isTrusted() {
		return nil
	}
	list := append(slices.Sorted(maps.Keys(s.Volumes)), append(s.NodeNames(), NamesOf(s.Nodes)...)...)
	slices.Sort(list)
	pods := s.DesiredPods()
	return slices.DeleteFunc(slices.Compact(list), func(name string) bool {
		m, _ := s.Find(name)
		is := s.stampOf(name)
		return m.Answers() && !m.Deleting || is.Epoch != top.Epoch || !is.isTrusted() || config.Ordinal(name) >= pods
	})
}

// awaitSnapshots waits for nodes whose snapshots may be further than that of the best node so far.
func (s Situation) awaitSnapshots(evidence string, best Node, names []string) Step {
	return Step{Do: Wait, RequeueAfter: 4 * ShortRequeue, Message: explain(evidence, fmt.Sprintf(
		"before a master is chosen, these nodes must start and load their snapshots, which may be newer than that of %s: %s; "+
			"if they do not, see the events and logs of their pods. %s",
		best.Name, strings.Join(names, ", "), s.howToAllow("To start with the data of "+best.Name+", and lose what only they have")))}
}

// putFurthestFirst moves the node that is furthest in the history of the first to the front. Only nodes that hold a key
// compare, unless none does: a snapshot of a lost disk has none.
func putFurthestFirst(nodes []Node) {
	best := 0
	for i, m := range nodes {
		if m.ReplID == nodes[0].ReplID && (m.Keys > 0) == (nodes[0].Keys > 0) && m.Offset > nodes[best].Offset {
			best = i
		}
	}
	if best > 0 {
		furthest := nodes[best]
		copy(nodes[1:best+1], nodes[:best])
		nodes[0] = furthest
	}
}
