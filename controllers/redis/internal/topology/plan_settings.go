package topology

import (
	"maps"
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// updateSettings gives the spec's settings to nodes that may run with others: all when the spec changes, and
// each new process, which may have started from an older file. Replicas come first: what they refuse, the master
// is not asked to take.
func (s Situation) updateSettings(master Node) (Step, bool) {
	apart := s.masterLast(master, func(m Node) bool { return m.Answers() && m.SettingsUnknown })
	return Step{Do: ApplySettings, NodeNames: apart, Message: "it may run with other settings than the spec has"}, len(apart) > 0
}

// changePersistence changes how data survives a server's end, on the servers first: until all of them keep their
// data in the new way, their file names the one before.
func (s Situation) changePersistence(master Node) (Step, bool) {
	apart := s.masterLast(master, func(m Node) bool { return m.Answers() && m.AOF != s.UsesAppendOnly() })
	next := Step{Do: SetPersistence, NodeNames: apart, Message: "persistence.mode is another", RequeueAfter: 10 * ShortRequeue}
	if _, refused := s.RefusalOf(config.AppendOnly); refused { // its disk may be full, and need not stay so
		next.RequeueAfter = volumes.RetryAfter
	}
	if len(apart) > 0 {
		return next, true
	}
	changing := s.Settings.Live[config.AppendOnly] != config.YesNo(s.UsesAppendOnly()) && len(s.unansweredNodes()) == 0
	held := s.Count(func(m Node) bool { return m.Outdated && m.Rewriting }) > 0 // roll waits for it
	return Step{Do: Wait, Message: "append-only files are being written", RequeueAfter: 10 * ShortRequeue}, changing || held
}

// isPersistenceApplied reports whether data is kept as the spec says, whichever server restarts.
func (s Situation) isPersistenceApplied() bool {
	want := s.LiveDirectives(0)
	return s.Settings.Live[config.AppendOnly] == want[config.AppendOnly] && s.Settings.Live[config.Snapshots] == want[config.Snapshots] &&
		s.Count(func(m Node) bool {
			return m.Answers() && (m.SettingsUnknown || !m.persistsAs(want[config.AppendOnly]))
		}) == 0
}

// persistsAs reports whether a server keeps its data in the file that it would start from with that value of
// appendonly. One that is asked to end before that file is written does not end, and is killed at last.
func (n Node) persistsAs(appends string) bool {
	return config.YesNo(n.AOF) == appends && !n.Rewriting
}

// masterLast gives the nodes that the test holds for, the master last.
func (s Situation) masterLast(master Node, matches func(Node) bool) []string {
	list := NamesOf(s.Where(func(m Node) bool { return m.Name != master.Name && matches(m) }))
	if m, ok := s.Find(master.Name); ok && matches(m) {
		list = append(list, m.Name)
	}
	return list
}

// NextSettings gives the settings that servers may start with by now. Until the first server of all has started,
// there is only the spec to go by.
func (s Situation) NextSettings() config.Settings {
	asked := s.Where(Node.Answers)
	if s.Status.Epoch == 0 && len(asked) == 0 {
		return s.InitialSettings()
	}
	next, want := s.Settings.Clone(), s.LiveDirectives(0)
	for _, name := range slices.Sorted(maps.Keys(next.Live)) {
		if _, wanted := want[name]; !wanted {
			delete(next.Live, name)
			next.Resets[name]++
		}
	}
	allSent := len(asked) > 0 && !slices.ContainsFunc(asked, func(m Node) bool { return m.SettingsUnknown })
	for name, value := range want {
		_, refused := s.RefusalOf(name)
		if name == config.AppendOnly && s.hasPersistenceChanged(value) || name != config.AppendOnly && allSent && !refused {
			next.Live[name] = value
		}
	}
	return next
}

// hasPersistenceChanged reports whether every node appends its writes to a file that has all the data, or
// whether none does any more.
func (s Situation) hasPersistenceChanged(value string) bool {
	other := s.Where(func(m Node) bool {
		return !m.Answers() || !m.persistsAs(value) || m.AOF && !m.Rewritten
	})
	return len(other) == 0 && len(s.unansweredNodes()) == 0
}

// RefusalOf gives the words in which some server refuses a directive.
func (w World) RefusalOf(name string) (string, bool) {
	for _, m := range w.Nodes {
		if words, is := m.RefusedSettings[name]; is {
			return words, true
		}
	}
	return "", false
}
