package fleet

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// modelFetch is a pod of a backup.
type modelFetch struct {
	UID string
	For string // the EtcdRestore that asks for it; empty for spec.bootstrap
	Has bool   // it has fetched the backup
}

// newFromBackup is a cluster that starts with a backup.
func newFromBackup(size int32, storage bool) *model {
	m := newModel(size, storage)
	m.Backup, m.Bootstrap = 1, true
	return m
}

// replaced is a cluster at rest, in the place of whose data an EtcdRestore puts a backup.
func replaced(size int32, storage bool) *model {
	m := formed(size, size, storage)
	m.write()
	m.Request, m.Backup = "r", 1
	return m
}

// replacedWithoutMajority is one whose majority has lost its data.
func replacedWithoutMajority() *model {
	m := lostMajority(3)
	m.Request, m.Backup, m.Humans = "r", 1, 0
	return m
}

// look is what a pass sees of the pod. Its address is as unique as it.
func (m modelFetch) look() membership.Fetch {
	seen := membership.Fetch{UID: types.UID(m.UID), For: types.UID(m.For), Address: m.UID, MaxMinor: 6}
	if m.Has {
		seen.Item = &databasev1alpha1.EtcdRestoredBackup{Item: "item", SHA256: "sum", ServerVersion: "3.6.16"}
	}
	return seen
}

// lookAtRestores is what a pass sees of EtcdRestores and of the pods of backups.
func (m *model) lookAtRestores(e *databasev1alpha1.EtcdCluster, f *Fleet) {
	if m.Request != "" && !slices.Contains(e.Status.BegunRestoreUIDs, types.UID(m.Request)) {
		f.Request = &membership.Request{UID: types.UID(m.Request)}
	}
	current := f.Situation().Source()
	for _, fetch := range m.Fetches {
		f.AssignFetch(fetch.look(), current)
	}
}

// isReplacing reports whether a restore is recorded: it stops the earlier members, and what they had is given up.
func (m *model) isReplacing() bool {
	record := m.Status.Membership
	return record != nil && record.Restore != nil && record.Restore.RestoreUID != ""
}

// restore has a member that is to start with the backup get it from the pod that its permit names, as the launcher does. It waits
// while that pod is not there.
func (m *model) restore(i int, permit launcher.Permit) (waits bool, err error) {
	v := &m.Volumes[i]
	switch {
	case v.ID != 0 || v.Restored:
		return false, nil
	case permit.Restore == nil && m.Backup > 0 && permit.State == launcher.StateNew:
		return true, broken("a member starts without the backup")
	case permit.Restore == nil:
		return false, nil
	case !slices.ContainsFunc(m.Fetches, func(f modelFetch) bool { return f.Has && permit.Restore.URL == "https://"+f.UID+":8443" }):
		return true, nil
	case m.held() > 0 && (permit.Token == m.Token || permit.Restore.RevisionBump == 0):
		return true, broken("a backup is restored, and there is data")
	}
	if m.Token != permit.Token && m.anotherRuns(i) {
		return true, broken("a backup is restored next to an earlier member")
	}
	if permit.Token != m.Token { // a cluster of its own
		m.Raft, m.Token, m.Held = nil, permit.Token, 0
	}
	v.Restored, v.Writes, m.Writes = true, m.Backup, m.Backup
	return false, nil
}

// anotherRuns reports whether a server other than that one runs.
func (m *model) anotherRuns(i int) bool {
	for j := range m.Pods {
		if j != i && m.Pods[j].Runs {
			return true
		}
	}
	return false
}

// canRestore reports whether the first member is yet to start with the backup.
func (m *model) canRestore() bool {
	return m.Backup > 0 && len(m.Raft) == 0 || m.isReplacing() && !m.Status.Membership.Members[0].Ran
}

// backupActions are those of the pods of backups, and of a member that starts with one.
func backupActions() []action {
	var list []action
	for i := range 2 {
		list = append(list, action{fmt.Sprintf("pod %d of a backup has fetched it", i), func(m *model) (bool, error) {
			if i >= len(m.Fetches) || m.Fetches[i].Has {
				return false, nil
			}
			m.Fetches[i].Has = true
			return true, nil
		}}, action{fmt.Sprintf("pod %d of a backup is lost", i), func(m *model) (bool, error) {
			if m.Faults == 0 || i >= len(m.Fetches) {
				return false, nil
			}
			m.Faults--
			m.Fetches = slices.Delete(m.Fetches, i, i+1)
			return true, nil
		}})
	}
	return append(list, action{"server 0 is killed after the backup was restored, before it starts", killAfterRestore},
		action{"the EtcdRestore says that it has ended", endRequest})
}

func killAfterRestore(m *model) (bool, error) {
	permit, ok := membership.ParsePermit(m.Pods[0].Permit)
	if m.Faults == 0 || !ok || m.Pods[0].Runs || m.Volumes[0].Restored || permit.Pod != m.Pods[0].UID || m.Pods[0].Broken != 0 {
		return false, nil
	}
	if ready, err := m.prepare(0); !ready || err != nil || !m.Volumes[0].Restored {
		return err != nil, err
	}
	m.Faults--
	return true, nil
}

func endRequest(m *model) (bool, error) {
	if m.Request == "" || m.Status.LastRestore == nil || m.Status.LastRestore.RestoreUID != types.UID(m.Request) {
		return false, nil
	}
	m.Request = ""
	return true, nil
}

func (m *modelEffects) CreateFetchPod(_ context.Context, _ membership.Situation, source types.UID) error {
	return m.call(func() error {
		if !slices.ContainsFunc(m.Fetches, func(f modelFetch) bool { return f.For == string(source) }) {
			m.Fetches = append(m.Fetches, modelFetch{UID: fmt.Sprintf("f%d", m.newID()), For: string(source)})
		}
		return nil
	})
}

func (m *modelEffects) DeleteFetchPod(_ context.Context, pod types.UID) error {
	return m.call(func() error {
		m.Fetches = slices.DeleteFunc(m.Fetches, func(f modelFetch) bool { return f.UID == string(pod) })
		return nil
	})
}

// confirmRequest asks what is recorded now, as the API server would show.
func (m *modelEffects) ConfirmRequest(_ context.Context, request types.UID) error {
	return m.call(func() error {
		if m.Request != string(request) {
			return ErrWithdrawn
		}
		return nil
	})
}

// checkDropped returns an error if the data of the members that the backup takes the place of goes before that is restored.
func (m *model) checkDropped(i int, permit launcher.Permit) error {
	if id := m.Volumes[i].DataID; m.isReplacing() && slices.Contains(m.Status.Membership.Restore.KeptDataIDs, id) &&
		slices.Contains(permit.Drop, id) {
		return broken("the earlier data goes before the backup is restored")
	}
	return nil
}
