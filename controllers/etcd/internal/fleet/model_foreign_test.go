package fleet

import (
	"fmt"
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
)

// anothers is a data directory of another cluster.
const anothers = "x"

// modelLeft are the data directories that are left on a volume of former members; empty places are none.
type modelLeft [4]string

// onForeignVolumes is a new cluster, for two of whose members somebody has bound volumes that have the data of another.
func onForeignVolumes() *model {
	m := newModel(3, true)
	m.Volumes[0].Left[0], m.Volumes[2].Left[0] = anothers, anothers
	return m
}

// isAnothers reports whether the volume has the data of another cluster.
func (m modelData) isAnothers() bool { return m.Left[0] == anothers }

// found are all directories on the volume.
func (m modelData) found() []string {
	return slices.DeleteFunc(append(m.Left[:], m.DataID), func(name string) bool { return name == "" })
}

// leftAfter is what is left when a fresh member has dropped what its permit says.
func (m modelData) leftAfter(permit launcher.Permit) (left modelLeft) {
	copy(left[:], slices.DeleteFunc(m.found(), func(name string) bool { return slices.Contains(permit.Drop, name) }))
	return left
}

// checkForeign is the launcher's: it reports whether a member may start without data. What its own cluster has left is no reason
// against it.
func (m *model) checkForeign(i int, permit launcher.Permit) (starts bool, err error) {
	for _, name := range m.Volumes[i].found() {
		switch known := len(permit.Known) == 0 || slices.Contains(permit.Known, name); {
		case name == anothers && known:
			return false, broken(fmt.Sprintf("member %d starts without data next to the data of another cluster", i))
		case name == anothers, !known && m.isPutBack(): // a record that is older does not know it, and a human decides
			m.Pods[i].Foreign = name
			return false, nil
		case !known:
			return false, broken(fmt.Sprintf("member %d does not start next to %s, which its own cluster has left", i, name))
		}
	}
	return true, nil
}

// foreignActions are those of a human who takes the data of another cluster off a volume.
func foreignActions() []action {
	var list []action
	for i := range 3 {
		list = append(list, action{fmt.Sprintf("the data of another cluster is taken off volume %d", i), func(m *model) (bool, error) {
			if m.Volumes[i].Left[0] != anothers {
				return false, nil
			}
			m.Volumes[i].Left[0] = ""
			return true, nil
		}})
	}
	return list
}
