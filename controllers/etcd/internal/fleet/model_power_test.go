package fleet

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// modelPower is what a power failure takes from a member that has no majority to learn it from again.
type modelPower struct {
	// PowerFailures are how many nodes may yet lose power.
	PowerFailures int
	// AllowedRevision is the one from which a human has allowed to continue last.
	AllowedRevision int
	// Below is the revision, by ordinal, at which a recovery has ended that the pod has refused to serve from; 0 if there is none.
	Below [membership.MaxSize]int
}

// failingPower is a cluster without a majority, one of whose nodes may lose power. Then a human may look once more.
func failingPower(m *model) *model {
	m.PowerFailures = 1
	m.Humans++
	return m
}

// powerActions are those of the nodes' power. A log does not show for certain which of its last entries are committed.
func powerActions() []action {
	var list []action
	for i := range membership.MaxSize {
		list = append(list, action{fmt.Sprintf("the node of pod %d loses power, and its log does not show that the last write was confirmed", i),
			func(m *model) (bool, error) {
				if m.PowerFailures == 0 || m.Pods[i].UID == "" || m.Volumes[i].Writes == 0 || m.hasMajority() {
					return false, nil
				}
				m.PowerFailures--
				m.Pods[i].Runs = false
				m.Volumes[i].Writes--
				m.Held = min(m.Held, m.held())
				return true, nil
			}})
	}
	return list
}

// revisionNumber is one in a message.
var revisionNumber = regexp.MustCompile(`revision (\d+)`)

// noteAllowed notes the revision from which a human allows to continue: the last one that the message names.
func (m *model) noteAllowed(message string) {
	m.AllowedRevision = 0
	for _, found := range revisionNumber.FindAllStringSubmatch(message, -1) {
		m.AllowedRevision, _ = strconv.Atoi(found[1]) // of digits there is no error
	}
}

// endsBelow does what the launcher does after it has made the member a cluster of one: it reports whether the revision is below the one
// that the permit names, so that it does not serve.
func (m *model) endsBelow(i int, permit launcher.Permit) (below bool, err error) {
	switch revision := 1 + m.Volumes[i].Writes; {
	case m.Volumes[i].Forced == permit.Force:
		return false, nil
	case int64(revision) < permit.MinRevision:
		m.Below[i] = revision
		return true, nil
	case revision < m.AllowedRevision:
		return false, broken(fmt.Sprintf("pod %d continues from an earlier revision than a human has allowed", i))
	}
	return false, nil
}
