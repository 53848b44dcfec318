package redis

import (
	"maps"
	"slices"
)

// updateSettings gives the spec's settings to nodes that may run with others: all when the spec changes, and
// each new process, which may have started from an older file. Replicas come first: what they refuse, the master
// is not asked to take.
func (s situation) updateSettings(master member) (step, bool) {
	apart := s.masterLast(master, func(m member) bool { return m.answers() && m.settingsUnknown })
	return step{do: applySettings, nodes: apart, message: "it may run with other settings than the spec has"}, len(apart) > 0
}

// changePersistence changes how data survives a server's end, on the servers first: until all of them keep their
// data in the new way, their file names the one before.
func (s situation) changePersistence(master member) (step, bool) {
	apart := s.masterLast(master, func(m member) bool { return m.answers() && m.AOF != s.usesAppendOnly() })
	next := step{do: setPersistence, nodes: apart, message: "persistence.mode is another", requeueAfter: 10 * shortRequeue}
	if _, refused := s.refusalOf(appendOnly); refused { // its disk may be full, and need not stay so
		next.requeueAfter = resizeRetry
	}
	if len(apart) > 0 {
		return next, true
	}
	changing := s.settings.Live[appendOnly] != yesNo(s.usesAppendOnly()) && len(s.unansweredNodes()) == 0
	held := s.count(func(m member) bool { return m.outdated && m.Rewriting }) > 0 // roll waits for it
	return step{do: wait, message: "append-only files are being written", requeueAfter: 10 * shortRequeue}, changing || held
}

// isPersistenceApplied reports whether data is kept as the spec says, whatever server starts anew.
func (s situation) isPersistenceApplied() bool {
	want := s.liveDirectives(0)
	return s.settings.Live[appendOnly] == want[appendOnly] && s.settings.Live[snapshots] == want[snapshots] &&
		s.count(func(m member) bool { return m.answers() && (m.settingsUnknown || !m.persistsAs(want[appendOnly])) }) == 0
}

// persistsAs reports whether a server keeps its data in the file that it would start from with that value of
// appendonly. One that is asked to end before that file is written does not end, and is killed at last.
func (m member) persistsAs(appends string) bool { return yesNo(m.AOF) == appends && !m.Rewriting }

// masterLast gives the nodes that the test holds for, the master last.
func (s situation) masterLast(master member, holds func(member) bool) []string {
	list := namesOf(s.where(func(m member) bool { return m.name != master.name && holds(m) }))
	if m, ok := s.find(master.name); ok && holds(m) {
		list = append(list, m.name)
	}
	return list
}

// nextSettings gives the settings that servers may start with by now. Until the first server of all has started,
// there is only the spec to go by.
func (s situation) nextSettings() settings {
	asked := s.where(member.answers)
	if s.Status.Epoch == 0 && len(asked) == 0 {
		return s.initialSettings()
	}
	next, want := s.settings.clone(), s.liveDirectives(0)
	for _, name := range slices.Sorted(maps.Keys(next.Live)) {
		if _, wanted := want[name]; !wanted {
			delete(next.Live, name)
			next.Resets[name]++
		}
	}
	told := len(asked) > 0 && !slices.ContainsFunc(asked, func(m member) bool { return m.settingsUnknown })
	for name, value := range want {
		_, refused := s.refusalOf(name)
		if name == appendOnly && s.hasPersistenceChanged(value) || name != appendOnly && told && !refused {
			next.Live[name] = value
		}
	}
	return next
}

// hasPersistenceChanged reports whether every node appends its writes to a file that has all the data, or
// whether none does any more.
func (s situation) hasPersistenceChanged(value string) bool {
	other := s.where(func(m member) bool {
		return !m.answers() || !m.persistsAs(value) || m.AOF && !m.Rewritten
	})
	return len(other) == 0 && len(s.unansweredNodes()) == 0
}

// refusalOf gives the words in which some server refuses a directive.
func (w world) refusalOf(name string) (string, bool) {
	for _, m := range w.members {
		if words, is := m.refusedSettings[name]; is {
			return words, true
		}
	}
	return "", false
}
