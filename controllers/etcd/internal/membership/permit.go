package membership

import (
	"encoding/json"
	"slices"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
)

// Permit is what is written on a pod that may start; empty while it may not. A pod that is not recorded may not. Only the
// one that the record names may start with an empty data directory: any other finds the member's data, or does not start. What
// is on another volume may be an earlier copy, so nothing starts there, nor on one that is not known yet.
func (s Situation) Permit(m Member) string {
	if m.Record == nil || m.Record.StartedBy == "" || m.Pod.UID == "" || m.Record.ClaimUID != m.Pod.ClaimUID || !s.mayRecover(m) ||
		!s.mayStart(m) {
		return ""
	}
	permit := launcher.Permit{
		Pod: string(m.Pod.UID), Data: m.Record.DataID, Fresh: m.Record.StartedBy == m.Pod.UID, Ran: m.Record.Ran, Force: s.recovery(),
		Drop: s.Status.Membership.FormerDataIDs, State: launcher.StateNew, Token: s.Status.Membership.Token,
		InitialCluster: s.initialCluster(*m.Record), Restore: s.restoreOf(m.Record), Known: s.knownData(*m.Record),
	}
	if last := s.Status.LastRecovery; permit.Force != "" && last != nil {
		permit.MinRevision = last.Revision
	}
	if had := s.durable(*m.Record); had.Index > 0 {
		permit.Log = &had
	}
	if m.Record.Joined {
		permit.State, permit.MemberID = launcher.StateExisting, m.Record.ID
	}
	text, _ := json.Marshal(permit) // of texts there is no error
	return string(text)
}

// knownData are the data directories that may be on the volume of a member; none if the record does not name all. Those of the other
// members are not among them: one of those shows that somebody has mixed up the volumes.
func (s Situation) knownData(of databasev1alpha1.EtcdRecordedMember) []string {
	record := s.Status.Membership
	if !record.NamesAllData {
		return nil
	}
	known := slices.Concat([]string{of.DataID}, record.FormerDataIDs, record.KeptDataIDs)
	if record.Restore != nil {
		known = append(known, record.Restore.KeptDataIDs...)
	}
	return known
}

// MissingPermits are the permits that pods lack, by the pod's name. A pod whose server answers needs none, as etcd goes by its log
// from then on; but the log must be there when its container restarts, so the pod is given another permit when the member was seen
// to run.
func (s Situation) MissingPermits() map[string]string {
	permits := map[string]string{}
	for _, m := range s.Members {
		permit, former := s.Permit(m), m.Pod.Permit
		if permit == "" || permit == former || m.Pod.Deleting || s.mayBeEarlier(m) {
			continue
		}
		if former != "" && m.IsOfFormerMember() {
			continue // it is deleted, or the record is older than what runs
		}
		if before, ok := ParsePermit(former); !ok || !m.View.Answered || m.Record.Ran && !before.Ran {
			permits[m.Name] = permit
		}
	}
	return permits
}

// ParsePermit reads what Permit wrote.
func ParsePermit(text string) (permit launcher.Permit, ok bool) {
	err := json.Unmarshal([]byte(text), &permit)
	return permit, err == nil && permit.Data != ""
}

// initialCluster lists the peers that a member starts with, as name=URL: those with which it forms the cluster, or those
// recorded when it joins, itself included.
func (s Situation) initialCluster(of databasev1alpha1.EtcdRecordedMember) []string {
	var peers []string
	for _, member := range s.Status.Membership.Members {
		if of.Joined || !member.Joined {
			peers = append(peers, member.Name+"="+s.PeerURL(member.Name))
		}
	}
	return peers
}
