package fleet

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// modelBackup is the EtcdBackup that is made before an upgrade; without a UID there is none.
type modelBackup struct {
	UID, Name, Token string
	Complete, Failed bool
	// Started: its pod runs. Must is how many writes were acknowledged by then.
	Started bool
	Must    int
	// Barrier is how many were committed, by a linearizable read after that; -1 before it.
	Barrier int
}

// The minor versions of the model, and their images as the operator has them, from 3.5 on.
var (
	modelVersions = []membership.Version{{Minor: 6, Patch: 16}, {Minor: 7, Patch: 3}}
	modelImages   = []string{"etcd:5", "etcd:6", "etcd:7"}
)

// changesBackups are the steps that make and delete what has to do with backups.
var changesBackups = []membership.Verb{membership.CreateFetchPod, membership.DeleteFetchPod, membership.CreateUpgradeBackup,
	membership.DeleteUpgradeBackup}

// upgrading is a cluster at rest that is backed up by a schedule, and is to go to the next minor version.
func upgrading(size int32) *model {
	m := scheduled(formed(size, size, true))
	m.Wanted = 1
	return m
}

// halfUpgraded is one of three, of which all but the first run the next minor version. The edit of the version may be taken back.
func halfUpgraded() *model {
	m := formed(3, 3, true)
	status := m.Status.DeepCopy()
	status.TargetVersion, status.TargetImage = modelVersions[1].String(), modelImages[2]
	m.setStatus(status)
	m.Wanted, m.Template, m.MayTakeBack = 1, 1, true
	m.Pods[1].Minor, m.Pods[2].Minor = 1, 1
	return m
}

// scheduled returns a model that is backed up by a schedule.
func scheduled(m *model) *model {
	m.Scheduled = true
	return m
}

// minorOf counts a version's minor version from 3.6 on.
func minorOf(text string) int {
	v, err := membership.ParseVersion(text)
	if err != nil {
		return 0
	}
	return v.Minor - modelVersions[0].Minor
}

// agree has the members use a later version once all of them run it, as etcd does.
func (m *model) agree() {
	least := len(modelVersions) - 1
	for _, item := range m.Raft {
		if i := ordinalOf(item.Name); m.runs(i, item.ID) {
			least = min(least, m.Pods[i].Minor)
		} else {
			return
		}
	}
	if len(m.Raft) > 0 {
		m.Agreed = max(m.Agreed, least)
	}
}

// checkBackedUp returns an error if a member runs the next minor version, and there is no way back.
func (m *model) checkBackedUp() error {
	for i, p := range m.Pods {
		if m.Scheduled && !m.BackedUp && !m.RolledBack && p.Runs && p.Minor > 0 {
			return broken(fmt.Sprintf("pod %d runs the next minor version before a backup is complete", i))
		}
	}
	return nil
}

// choose notes which version pods are made with from now on. It returns an error if that is an earlier one than the members have agreed on,
// or the next one before a backup is complete, where the members have not come to it by themselves.
func (m *model) choose(version string) error {
	now, next := minorOf(m.Status.TargetVersion), minorOf(version)
	switch {
	case m.Status.TargetVersion == "" || next == now:
		return nil
	case next < m.Agreed:
		return broken("pods are to run an earlier minor version than the members have agreed on")
	case next > now && next > m.Agreed && m.Scheduled && !m.BackedUp:
		return broken("the next minor version is chosen before a backup is complete")
	case next < now:
		m.BackedUp, m.RolledBack = false, true
	}
	return nil
}

// isUpgraded reports whether all members run the version that is wanted, and nothing of the upgrade is left.
func (m *model) isUpgraded() bool {
	for _, item := range m.Raft {
		if m.Pods[ordinalOf(item.Name)].Minor != m.Wanted {
			return false
		}
	}
	return m.Agreed == m.Wanted && m.Upgrade.UID == ""
}

// lookAtBackups is what a pass sees of EtcdBackups.
func (m *model) lookAtBackups() []membership.Backup {
	var list []membership.Backup
	if one := m.Upgrade; one.UID != "" {
		seen := membership.Backup{UID: types.UID(one.UID), Name: one.Name, Own: true, Token: one.Token, Complete: one.Complete}
		if one.Failed {
			seen.Problem = "the store refuses"
		}
		list = append(list, seen)
	}
	if m.Scheduled {
		list = append(list, membership.Backup{UID: "nightly", Name: "nightly", Scheduled: true})
	}
	return list
}

// isBackupUnderWay reports whether the backup before the upgrade is neither complete nor has failed.
func (m *model) isBackupUnderWay() bool {
	return m.Upgrade.UID != "" && !m.Upgrade.Complete && !m.Upgrade.Failed
}

// upgradeActions are those of the backup before an upgrade. It takes as long as all that happens before it ends.
func upgradeActions() []action {
	list := []action{
		{"the backup before the upgrade starts", startBackup},
		{"a write while the backup before the upgrade is made", func(m *model) (bool, error) {
			return m.isBackupUnderWay() && m.Upgrade.Started && m.Writes == m.Upgrade.Must && m.write(), nil
		}},
		{"the backup before the upgrade learns what is committed", learnCommitted},
		{"the backup before the upgrade fails", func(m *model) (bool, error) {
			if !m.isBackupUnderWay() || m.Faults == 0 {
				return false, nil
			}
			m.Faults--
			m.Upgrade.Failed = true
			return true, nil
		}},
		{"a human deletes the backup that has failed", func(m *model) (bool, error) {
			if !m.Upgrade.Failed {
				return false, nil
			}
			m.Upgrade = modelBackup{}
			return true, nil
		}},
	}
	for i := range membership.MaxSize {
		list = append(list, action{fmt.Sprintf("the backup before the upgrade reads member %d", i), readMember(i)},
			action{fmt.Sprintf("member %d hears what it lacks", i), func(m *model) (bool, error) {
				if !m.lags(i) {
					return false, nil
				}
				m.Volumes[i].Writes = m.Writes
				return true, nil
			}})
	}
	return list
}

func startBackup(m *model) (bool, error) {
	if !m.isBackupUnderWay() || m.Upgrade.Started {
		return false, nil
	}
	m.Upgrade.Started, m.Upgrade.Must, m.Upgrade.Barrier = true, m.Writes, -1
	return true, nil
}

// learnCommitted is a linearizable read, which takes a majority.
func learnCommitted(m *model) (bool, error) {
	if !m.isBackupUnderWay() || !m.Upgrade.Started || m.Upgrade.Barrier >= 0 || !m.hasQuorum() {
		return false, nil
	}
	m.Upgrade.Barrier = m.Writes
	return true, nil
}

// readMember has the backup read a member that has what was committed.
func readMember(i int) func(*model) (bool, error) {
	return func(m *model) (bool, error) {
		if !m.isBackupUnderWay() || !m.Upgrade.Started || m.Upgrade.Barrier < 0 || !m.isFitToRead(i) || m.Volumes[i].Writes < m.Upgrade.Barrier {
			return false, nil
		}
		if m.Volumes[i].Writes < m.Upgrade.Must {
			return true, broken(fmt.Sprintf("the backup before the upgrade is of member %d, which lacks what was acknowledged before", i))
		}
		m.Upgrade.Complete, m.BackedUp = true, true
		return true, nil
	}
}

// isFitToRead reports whether a backup may read a member: a voter that knows of a leader.
func (m *model) isFitToRead(i int) bool {
	one := m.raft(m.Volumes[i].ID)
	return one != nil && !one.Learner && m.runs(i, one.ID) && m.Pods[i].Serves && m.hasQuorum()
}

// lags reports whether a voter of a cluster that is backed up runs without the last write.
func (m *model) lags(i int) bool {
	return m.Scheduled && m.isFitToRead(i) && m.holds(*m.raft(m.Volumes[i].ID)) && m.Volumes[i].Writes < m.Writes
}

// upgradingWithOneBehind is one of three, whose last member lacks the last write.
func upgradingWithOneBehind() *model {
	m := upgrading(3)
	m.Pods[2].Runs = false
	m.write()
	m.Pods[2].Runs = true
	return m
}

func (m *modelEffects) ReadBackups(context.Context) (list []membership.Backup, err error) {
	err = m.call(func() error {
		list = m.lookAtBackups()
		return nil
	})
	return list, err
}

func (m *modelEffects) CreateUpgradeBackup(_ context.Context, name, _ string) error {
	return m.call(func() error {
		if m.Upgrade.UID == "" {
			m.Upgrade = modelBackup{UID: fmt.Sprintf("b%d", m.newID()), Name: name, Token: m.object.Status.Membership.Token}
		}
		return nil
	})
}

func (m *modelEffects) DeleteUpgradeBackup(_ context.Context, name string) error {
	return m.call(func() error {
		for _, item := range m.lookedAt() {
			if item.Name == name && string(item.UID) == m.Upgrade.UID {
				m.Upgrade = modelBackup{}
			}
		}
		return nil
	})
}

// lookedAt are the EtcdBackups that the pass has seen.
func (m *modelEffects) lookedAt() []membership.Backup {
	if m.seen != nil {
		return m.seen.Backups
	}
	return m.lookAtBackups()
}
