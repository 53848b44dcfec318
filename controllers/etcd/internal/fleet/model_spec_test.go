package fleet

import (
	"fmt"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// What a template can be that somebody has written by mistake.
const (
	isUnschedulable = 1 + iota // a node selector that no node fits, requests that are too large: its pods are on no node
	cannotBePulled             // an image that does not exist: nodes report that the container waits
	isKilled                   // a memory limit that is too low: the server is started and killed, again and again
)

// missingImage is what spec.image says by mistake.
const missingImage = "etcd:missing"

// editing returns a model in which somebody may make that mistake in the spec so many times, each time to be corrected.
func editing(m *model, mistake, edits int) *model {
	m.Mistake, m.Edits = mistake, edits
	return m
}

// resizing returns a model in which the size may be edited once, and the edit be taken back.
func resizing(m *model, size int32) *model {
	m.OtherSize = size
	return m
}

// reversioning returns a model in which the next minor version may be asked for so many times, and each edit be taken back.
func reversioning(m *model, edits int) *model {
	m.VersionEdits = edits
	return m
}

// withoutNextImage returns a model in which the image of the next minor version cannot be pulled.
func withoutNextImage(m *model) *model {
	m.NextMissing = true
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
		{"the node selector or the requests are edited by mistake", editByMistake(isUnschedulable)},
		{"the image is edited by mistake", editByMistake(cannotBePulled)},
		{"the memory limit is edited by mistake", editByMistake(isKilled)},
		{"the mistake is corrected", func(m *model) (bool, error) {
			if m.Broken == 0 {
				return false, nil
			}
			m.Broken = 0
			return true, nil
		}},
		{"the size is edited", func(m *model) (bool, error) {
			if m.OtherSize == 0 {
				return false, nil
			}
			m.Size, m.FormerSize, m.OtherSize = m.OtherSize, m.Size, 0
			return true, nil
		}},
		{"the edit of the size is taken back", func(m *model) (bool, error) {
			if m.FormerSize == 0 {
				return false, nil
			}
			m.Size, m.FormerSize = m.FormerSize, 0
			return true, nil
		}},
		{"the version is edited", func(m *model) (bool, error) {
			if m.VersionEdits == 0 || m.Wanted > 0 {
				return false, nil
			}
			m.VersionEdits--
			m.Wanted, m.MayTakeBack = 1, true
			return true, nil
		}},
		{"the edit of the version is taken back", func(m *model) (bool, error) {
			if !m.MayTakeBack {
				return false, nil
			}
			m.MayTakeBack, m.Wanted = false, 0
			return true, nil
		}},
		{"the version that cannot be taken back is asked for again", func(m *model) (bool, error) {
			if m.Wanted >= m.Agreed {
				return false, nil
			}
			m.Wanted = m.Agreed
			return true, nil
		}},
	}
}

// hasEdits reports whether the spec may yet be edited, an edit may be taken back, or pods have a mistake.
func (m *model) hasEdits() bool {
	return m.Edits > 0 || m.hasMistakes() || m.OtherSize != 0 || m.FormerSize != 0 || m.VersionEdits > 0 || m.MayTakeBack
}

// editByMistake edits the spec of a model in which that mistake may be made.
func editByMistake(mistake int) func(*model) (bool, error) {
	return func(m *model) (bool, error) {
		if m.Edits == 0 || m.Broken != 0 || m.Mistake != mistake {
			return false, nil
		}
		m.Edits--
		m.Broken = mistake
		return true, nil
	}
}

// mistakeIn is what is wrong with the template of the StatefulSet. It follows the spec, but the image that the status names.
func (m *model) mistakeIn(status *databasev1alpha1.EtcdClusterStatus) int {
	switch {
	case status.TargetImage == missingImage || m.NextMissing && minorOf(status.TargetVersion) > 0:
		return cannotBePulled
	case m.Broken == cannotBePulled:
		return 0
	}
	return m.Broken
}

// imageOf is the image of a pod.
func (m modelPod) imageOf() string {
	if m.Broken == cannotBePulled && m.Minor == 0 { // spec.image was a mistake
		return missingImage
	}
	return modelImages[1+m.Minor]
}

// checkVersions returns an error if a server runs an earlier version than the members have agreed on: it cannot read their data.
func (m *model) checkVersions() error {
	for i, p := range m.Pods {
		if one := m.raft(m.Volumes[i].ID); one != nil && m.runs(i, one.ID) && p.Minor < m.Agreed {
			return broken(fmt.Sprintf("pod %d runs an earlier minor version than the members have agreed on", i))
		}
	}
	return nil
}

// memoryActions are those of a server with too little memory: for a while it may suffice.
func memoryActions() []action {
	var list []action
	for i := range membership.MaxSize {
		list = append(list, killActions(i)...)
	}
	return list
}

// killActions are those of the server at one ordinal.
func killActions(i int) []action {
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
	return m.Broken != 0 || m.TemplateBroken != 0
}

// hasChanged reports whether the version of a pod is not the one that a sleeper has seen: each report of its kubelet is another.
func (m *modelEffects) hasChanged(i int) bool {
	return m.seen != nil && m.seenPods[i] != m.Pods[i]
}
