package fleet

import (
	"fmt"
	"slices"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestALostMajorityComesBack(t *testing.T) {
	for size, survivor := range map[int32]int{3: 2, 5: 4} {
		m := lostMajority(size)
		before := m.Volumes[survivor]
		if err := m.settle(); err != nil {
			t.Fatal(err)
		}
		if m.Recovered == "" || m.Held != before.Writes || m.held() != m.Writes || m.Volumes[survivor].ID != before.ID || m.Humans != 1 {
			t.Errorf("got %s", m)
		}
	}
}

// settle lets everything happen that can, but faults, until the cluster is as large as it shall be and all members run. It
// returns an error if it does not get there.
func (m *model) settle() error { return m.settleBy(actionsOf(m)) }

// settleBy is like settle, where these can happen.
func (m *model) settleBy(actions []action) error {
	m.Faults, m.Crashes, m.Edits, m.Kills, m.OtherSize, m.VersionEdits = 0, 0, 0, 0, 0, 0
	m.Meddles, m.NodeReturns, m.Lags, m.PutBacks, m.PowerFailures, m.Deletions, m.DiskFaults = 0, 0, 0, 0, 0, 0, 0
	for range 60 {
		for _, a := range actions {
			next := m.clone()
			happened, err := a.happen(next)
			if err != nil {
				return err
			}
			if happened {
				*m = *next
			}
		}
		if m.atRest() {
			return nil
		}
	}
	e := m.object()
	next := m.fleet(e, &modelEffects{model: m, object: e}).Situation().Plan()
	return broken(fmt.Sprintf("it does not come to rest, and the next step is %q, %s: %s", next, next.Message, m))
}

// atRest reports whether as many voters run as there shall be, of the latest template, and all are recorded.
func (m *model) atRest() bool {
	record := m.Status.Membership
	if record == nil || record.ClusterID == "" || record.Restore != nil || m.isAwaited() || m.Writes < m.Backup || record.Change != nil ||
		m.Cache != nil || !m.hasSpace() ||
		len(m.Raft) != int(m.Size) || len(record.Members) != int(m.Size) {
		return false
	}
	for i, item := range m.Raft {
		if !m.isAtRest(item) || m.raft(mustParseID(record.Members[i].ID)) == nil {
			return false
		}
	}
	return true
}

// isAtRest reports whether a member is a voter that runs with the latest template, or on a node that is silent.
func (m *model) isAtRest(member modelMember) bool {
	ordinal := ordinalOf(member.Name)
	pod := m.Pods[ordinal]
	return !member.Learner && !pod.Outdate && (m.runs(ordinal, member.ID) || pod.Silent)
}

// isAwaited reports whether something is yet to come that was asked for.
func (m *model) isAwaited() bool {
	return m.hasMistakes() || len(m.Fetches) > 0 || !m.isUpgraded() || m.Request != ""
}

func mustParseID(text string) uint64 {
	id, err := membership.ParseID(text)
	if err != nil {
		panic(err)
	}
	return id
}

// isStuckWithoutMemory reports whether so many servers are killed again and again, in pods that take their data along, that the others are
// no majority: only a human can give up what these pods have.
func (m *model) isStuckWithoutMemory() bool {
	voters, left := 0, 0
	for _, item := range m.Raft {
		if p := m.Pods[ordinalOf(item.Name)]; !item.Learner {
			voters++
			if m.holds(item) && (m.Storage || p.Broken != isKilled || p.Runs) {
				left++
			}
		}
	}
	return left <= voters/2
}

// hasMajority reports whether a majority of the voters has its data, or none has met yet: only then does it heal by itself.
func (m *model) hasMajority() bool {
	voters, having := 0, 0
	for _, item := range m.Raft {
		if !item.Learner {
			voters++
			if m.holds(item) {
				having++
			}
		}
	}
	return voters > 0 && having > voters/2
}

// canHeal reports whether nothing but time is needed, or a human who is there.
func (m *model) canHeal() bool {
	if m.isPutBack() || m.hasNoFormerRecord() {
		return false
	}
	isAwake := m.Asleep == nil // one that wakes may record what it saw run, and what has lost its data since
	isNotFormed := isAwake && m.Status.Membership != nil && m.Status.Membership.ClusterID == ""
	isHelped := isAwake && m.canRestore() || m.held() > 0 && (m.Humans > 0 || m.isRecovering()) && !m.isSurvivorGoing()
	return m.hasMajority() && !m.isStuckWithoutMemory() && !m.isStuckOnClaim() || isHelped || isNotFormed && m.held() == 0
}

// isRecovering reports whether a recovery is recorded, from a member that has its data.
func (m *model) isRecovering() bool {
	record := m.Status.Membership
	return record != nil && record.Change != nil && record.Change.Type == databasev1alpha1.EtcdRecover &&
		slices.ContainsFunc(m.Raft, func(one modelMember) bool { return one.Name == record.Change.Name && m.holds(one) })
}
