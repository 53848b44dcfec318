package redis

import (
	"maps"
	"slices"
)

// tune nodes that may run with other settings than the spec has: all when it
// changes, and each new process, which may have started from an older file.
// Replicas come first: what they refuse, the master is not asked to take.
func (s situation) tune(master member) (step, bool) {
	apart := s.inTurn(master, func(m member) bool { return m.answers() && m.untuned })
	return step{do: tune, nodes: apart, why: "it may run with other settings than the spec has"}, len(apart) > 0
}

// persist changes what survives a server's end, on the servers first: until all
// of them keep their data in the new way, their file speaks of the one before.
func (s situation) persist(master member) (step, bool) {
	apart := s.inTurn(master, func(m member) bool { return m.answers() && m.AOF != logs(s.Redis) })
	next := step{do: persist, nodes: apart, why: "persistence.mode is another", after: 10 * soon}
	if _, refused := s.refuses(appendOnly); refused { // its disk may be full, and need not stay so
		next.after = regret
	}
	if len(apart) > 0 {
		return next, true
	}
	changing := s.settings.Live[appendOnly] != yesNo(logs(s.Redis)) && len(s.unheard()) == 0
	held := s.count(func(m member) bool { return m.outdated && m.Rewriting }) > 0 // roll waits for it
	return step{do: wait, why: "append-only files are being written", after: 10 * soon}, changing || held
}

// persisting as the spec says, whatever server starts anew.
func (s situation) persisting() bool {
	want := live(s.Redis, 0)
	return s.settings.Live[appendOnly] == want[appendOnly] && s.settings.Live[snapshots] == want[snapshots] &&
		s.count(func(m member) bool { return m.answers() && (m.untuned || !m.keeps(want[appendOnly])) }) == 0
}

// keeps its data in the file that it would start from with that directive. One that
// is asked to end before that is written does not, and is killed in the end.
func (m member) keeps(appends string) bool { return yesNo(m.AOF) == appends && !m.Rewriting }

// inTurn gives the nodes that the test holds for, the master last.
func (s situation) inTurn(master member, holds func(member) bool) []string {
	list := namesOf(s.where(func(m member) bool { return m.name != master.name && holds(m) }))
	if m, ok := s.find(master.name); ok && holds(m) {
		list = append(list, m.name)
	}
	return list
}

// settle gives the settings that servers may start with by now. Before the first
// of all has started, nobody has any to go by but the spec.
func (s situation) settle() settings {
	asked := s.where(member.answers)
	if s.Status.Epoch == 0 && len(asked) == 0 {
		return initial(s.Redis)
	}
	next, want := s.settings.clone(), live(s.Redis, 0)
	for _, name := range slices.Sorted(maps.Keys(next.Live)) {
		if _, wanted := want[name]; !wanted {
			delete(next.Live, name)
			next.Resets[name]++
		}
	}
	told := len(asked) > 0 && !slices.ContainsFunc(asked, func(m member) bool { return m.untuned })
	for name, value := range want {
		_, refused := s.refuses(name)
		if name == appendOnly && s.switched(value) || name != appendOnly && told && !refused {
			next.Live[name] = value
		}
	}
	return next
}

// switched is true when every node appends its writes to a file that has all the
// data, or when none does any more.
func (s situation) switched(value string) bool {
	other := s.where(func(m member) bool {
		return !m.answers() || !m.keeps(value) || m.AOF && !m.Rewritten
	})
	return len(other) == 0 && len(s.unheard()) == 0
}

// refuses tells in what words some server will not take a directive.
func (w world) refuses(name string) (string, bool) {
	for _, m := range w.members {
		if words, is := m.refused[name]; is {
			return words, true
		}
	}
	return "", false
}
