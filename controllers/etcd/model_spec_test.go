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

// hasChanged reports whether a pod is not as a sleeper has seen it.
func (e *modelEffects) hasChanged(i int) bool {
	if e.seen == nil {
		return false
	}
	seen, now := e.seenPod(i), e.Pods[i]
	return fmt.Sprint(seen.UID) != now.UID || seen.Permit != now.Permit || seen.HasRun != (now.Ran || now.Runs)
}
