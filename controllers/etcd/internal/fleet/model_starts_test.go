package fleet

import (
	"fmt"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// formed returns a cluster of so many members at rest, whose size is then changed.
func formed(members, size int32, storage bool) *model {
	m := newModel(members, storage)
	if err := m.settle(); err != nil {
		panic(err)
	}
	m.write()
	m.Size = size
	return m
}

// outdated returns a cluster whose pods are all to be recreated, while nodes are drained.
func outdated(size int32, storage bool) *model {
	m := formed(size, size, storage)
	m.Drains = 2
	for i := range m.Replicas {
		m.Pods[i].Outdate = true
	}
	return m
}

// outdatedWithoutOne is one of five, of which one that is not the last has lost its volume.
func outdatedWithoutOne() *model {
	m := outdated(5, true)
	m.Drains = 0
	m.Pods[2].Runs, m.Volumes[2] = false, modelData{}
	return m
}

// lostMajority returns a cluster whose first members have lost their data. The first of those that are left lacks the last write.
// A human looks twice.
func lostMajority(size int32) *model {
	m := formed(size, size, true)
	lost := int(size/2 + 1)
	m.Pods[lost].Runs = false
	m.write()
	m.Pods[lost].Runs, m.Humans = true, 2
	for i := range lost {
		m.Pods[i].Runs, m.Volumes[i] = false, modelData{}
	}
	return m
}

// lostWhileForming returns a cluster whose members have met while the operator was away. Then two have lost their volumes.
func lostWhileForming() *model {
	m := forming()
	for i := range m.Replicas {
		if err := m.startServer(int(i)); err != nil {
			panic(err)
		}
	}
	for i := range 2 {
		m.Pods[i].Runs, m.Volumes[i] = false, modelData{}
	}
	return m
}

// wakingAmongThree is a cluster that has grown to three while an operator was stopped that is to delete the pod of the only member.
func wakingAmongThree() *model {
	m := outdatedAlone()
	m.Crashes = 1
	if happened, err := fallAsleep(m); !happened || err != nil || m.Asleep.Step.Do != membership.DeletePod {
		panic(fmt.Sprintf("it does not delete the pod of the only member: %v %s", err, m))
	}
	asleep, all := m.Asleep, actionsOf(m)
	m.Asleep, m.Size, m.Crashes = nil, 3, 0
	for i := 0; m.voters() < 3; i++ {
		if _, err := all[i%len(all)].happen(m); err != nil || i > 60*len(all) {
			panic(fmt.Sprintf("it does not grow: %v %s", err, m))
		}
	}
	m.Asleep, m.Drains = asleep, 1
	return m
}

// voters are how many members vote.
func (m *model) voters() int {
	count := 0
	for _, member := range m.Raft {
		if !member.Learner {
			count++
		}
	}
	return count
}

// formedBehindCaches is a cluster without storage whose caches show pods that never ran and are outdated. They have met since.
func formedBehindCaches() *model {
	m := newModel(3, false)
	m.startForming()
	m.Broken, m.TemplateBroken = isUnschedulable, isUnschedulable
	m.Lags = 1
	if _, err := fallBehind(true)(m); err != nil {
		panic(err)
	}
	for i := range m.Replicas {
		if err := m.startServer(int(i)); err != nil {
			panic(err)
		}
	}
	m.openToClients()
	m.write()
	return m
}
