package fleet

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// modelClaims are what claims say of their volumes, and what becomes of the object.
type modelClaims struct {
	// IsStamping: claims are stamped. Otherwise nothing is known of them.
	IsStamping bool
	// Marks are the clusters that members have started for on the volumes, by ordinal, and Stamps what the claims are stamped with.
	Marks, Stamps [membership.MaxSize]string
	// Deletions are how often the object may yet be deleted and applied again.
	Deletions int
	// IsApplied: the object was applied again. Returns: all claims had the last record then, and nothing has happened to them since.
	IsApplied, Returns bool
}

// deleting is a model whose object may be deleted by mistake once, and applied again.
func deleting(m *model) *model {
	m.IsStamping, m.Deletions = true, 1
	if record := m.Status.Membership; record != nil {
		for _, member := range record.Members {
			m.Marks[ordinalOf(member.Name)] = record.Token
		}
	}
	if m.Saved != nil {
		m.Saved.IsStamping, m.Saved.Marks = true, m.Marks
	}
	e := m.object()
	f := m.fleet(e, &modelEffects{model: m, object: e, version: m.Version})
	if err := f.Act(context.Background(), membership.Step{Do: membership.Idle}); err != nil {
		panic(err)
	}
	return m
}

// deletionActions have the object deleted and applied again, while its pods are yet to end.
func deletionActions() []action {
	list := []action{{"the object is deleted, and applied again", applyAgain}}
	for i := range membership.MaxSize {
		list = append(list, action{fmt.Sprintf("pod %d of the deleted object ends", i), func(m *model) (bool, error) {
			happens := m.Pods[i].Former
			if happens {
				m.removePod(i)
			}
			return happens, nil
		}})
	}
	return list
}

// applyAgain deletes the object with its children, and applies it again: all but the volumes and the claims is gone with it, or ends.
func applyAgain(m *model) (bool, error) {
	if m.Deletions == 0 || m.Status.Membership == nil || m.Cache != nil {
		return false, nil
	}
	m.Deletions--
	e := m.object()
	m.IsApplied, m.Returns = true, !m.fleet(e, &modelEffects{model: m, object: e, version: m.Version}).Situation().AreStampsDue() &&
		m.isSettled()
	if slices.Contains(m.Status.BegunRestoreUIDs, types.UID(m.Request)) {
		m.Request = "" // its own status says that it has started
	}
	m.Returns = m.Returns && m.Request == "" // else a human is asked which data is wanted
	m.setStatus(&databasev1alpha1.EtcdClusterStatus{})
	m.Version++ // that of another object
	m.Allowed, m.Budget, m.SetGone, m.Replicas, m.Template, m.TemplateBroken, m.Upgrade = "", noBudget, false, 0, 0, 0, modelBackup{}
	m.Fetches = m.Fetches[:0]
	for i := range m.Pods {
		m.Pods[i].Former = m.Pods[i].UID != ""
	}
	return true, nil
}

// isSettled reports whether the record is one that a later object may continue from.
func (m *model) isSettled() bool {
	record := m.Status.Membership
	return record.ClusterID != "" && record.Restore == nil && !m.isRecovering()
}

// hasNoFormerRecord reports whether the object was applied again, and the claims may have no record that it can continue from, or an
// EtcdRestore asks for a backup instead: the operator may wait for a human. Nothing may be lost.
func (m *model) hasNoFormerRecord() bool {
	return m.IsApplied && m.Status.Membership == nil && (!m.Returns || m.Request != "")
}

// formerPods are how many pods of the deleted object are yet to end.
func (m *model) formerPods() int {
	count := 0
	for _, p := range m.Pods {
		if p.Former {
			count++
		}
	}
	return count
}

// isUnknown reports whether a pod is one of a deleted object that the record does not name.
func (m modelPod) isUnknown(record *databasev1alpha1.EtcdRecordedMember) bool {
	permit, _ := membership.ParsePermit(m.Permit)
	return m.Former && (record == nil || permit.Data != record.DataID || permit.Pod != m.UID)
}

// mark notes on a claim that a member starts on its volume.
func (m *model) mark(i int, token string) {
	if m.IsStamping && m.Storage {
		m.Marks[i] = token
	}
}

// claims are those that there are: the StatefulSet has made them for its pods.
func (m *model) claims() []membership.Claim {
	var list []membership.Claim
	for i := range m.Pods {
		if !m.IsStamping || !m.Storage || m.Marks[i] == "" && m.Stamps[i] == "" && m.Pods[i].UID == "" {
			continue
		}
		name := m.spec().MemberName(int32(i)) //nolint:gosec // at most 5
		list = append(list, membership.Claim{Name: "data-" + name, Member: name, UID: m.claimUID(i), Data: m.Marks[i], Stamp: m.Stamps[i],
			Goes: m.Going[i]})
	}
	return list
}

func (m *modelEffects) ReadClaims(context.Context) ([]membership.Claim, error) {
	return m.claims(), nil
}

// StampClaims stamps one claim after the other. An operator may be killed when it has stamped the first one.
func (m *modelEffects) StampClaims(_ context.Context, stamp membership.Stamp) error {
	var due []membership.Claim
	for _, claim := range m.claims() {
		if claim.Goes || claim.Stamp == stamp.For(claim.UID) {
			continue
		}
		if found, ok := claim.ReadStamp(); ok && found.Revision() >= stamp.Revision() {
			return errStale
		}
		due = append(due, claim)
	}
	if len(due) == 0 {
		return nil
	}
	write := func(claim membership.Claim) { m.Stamps[ordinalOf(claim.Member)] = stamp.For(claim.UID) }
	for _, some := range [][]membership.Claim{due[:1], due[1:]} {
		if len(some) == 0 {
			continue
		}
		if err := m.call(func() error {
			for _, claim := range some {
				write(claim)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
