package etcd

import "fmt"

// What a template can be that somebody has written by mistake.
const (
	neverStarts = 1 + iota // an image that does not exist, a node selector that no node fits, requests that are too large
	isKilled               // a memory limit that is too low: the server is started and killed, again and again
)

// editing returns a model in which somebody may make that mistake in the spec so many times, each time to be corrected.
func editing(m *model, mistake, edits int) *model {
	m.Mistake, m.Edits = mistake, edits
	return m
}

// killing returns a model in which so many servers with too little memory may be killed once they serve.
func killing(m *model, kills int) *model {
	m.Kills = kills
	return m
}

// specActions are edits of the spec. The correction takes back what was wrong.
func specActions() []action {
	return []action{
		{"the spec is edited by mistake", func(m *model) (bool, error) {
			if m.Edits == 0 || m.Broken != 0 {
				return false, nil
			}
			m.Edits--
			m.Broken = m.Mistake
			return true, nil
		}},
		{"the spec is corrected", func(m *model) (bool, error) {
			if m.Broken == 0 {
				return false, nil
			}
			m.Broken = 0
			return true, nil
		}},
	}
}

// memoryActions are those of a server with too little memory: for a while it may suffice.
func memoryActions(i int) []action {
	return []action{
		{fmt.Sprintf("server %d serves for a while, with too little memory", i), func(m *model) (bool, error) {
			p := &m.Pods[i]
			if m.Kills == 0 || p.Broken != isKilled || p.Runs || p.Permit == "" {
				return false, nil
			}
			before := m.key()
			p.Broken = 0
			err := m.startServer(i)
			p.Broken = isKilled
			m.catchUp(i)
			return m.key() != before, err
		}},
		{fmt.Sprintf("server %d is killed for memory", i), func(m *model) (bool, error) {
			if m.Kills == 0 || m.Pods[i].Broken != isKilled || !m.Pods[i].Runs {
				return false, nil
			}
			m.Kills--
			m.Pods[i].Runs = false
			m.Pods[i].Kills++
			return true, nil
		}},
	}
}

// catchUp has a member that follows a leader hear what it lacks, as etcd does within moments. Only backups look into these.
func (m *model) catchUp(i int) {
	if one := m.raft(m.Volumes[i].ID); one != nil && m.runs(i, one.ID) && m.holds(*one) && m.hasQuorum() {
		m.Volumes[i].Writes = m.Writes
	}
}

// failToStart is what becomes of a server in a pod whose template is a mistake: it is never started, or killed as soon as it has
// prepared its data directory. It reports whether there is such a mistake.
func (m *model) failToStart(i int) (fails bool, err error) {
	p := &m.Pods[i]
	if p.Broken == isKilled {
		_, err = m.prepare(i)
		p.Ran = true
	}
	return p.Broken != 0, err
}

// hasMistakes reports whether the spec, or a pod, still has a mistake.
func (m *model) hasMistakes() bool {
	for _, p := range m.Pods {
		if p.Broken != 0 {
			return true
		}
	}
	return m.Broken != 0
}

// hasChanged reports whether the version of a pod is not the one that a sleeper has seen: each report of its kubelet is another.
func (e *modelEffects) hasChanged(i int) bool {
	return e.seen != nil && e.seenPods[i] != e.Pods[i]
}
