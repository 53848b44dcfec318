package membership

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// Claim is the PersistentVolumeClaim of a member's volume.
type Claim struct {
	Name   string
	Member string // the name of the member, and of its pod
	UID    types.UID
	Data   string // the token of the cluster of which a member has started on it; empty if none has
	Stamp  string // in the form of Stamp.For; empty if there is none
	Goes   bool   // it is being deleted, or is owned by an object that is gone
}

// Stamp is what is written on the claims: the record, and what else is needed to continue from it. It outlives the object. A user who may
// change a claim can forge it, so it names no data to delete and no image.
type Stamp struct {
	// ClaimUID is the UID of the claim that it was written on: a copy of that claim is another volume.
	ClaimUID types.UID `json:"claimUID"`
	// Unsettled says that no cluster can continue from this record: it has not formed, or its data is about to be replaced.
	Unsettled bool `json:"unsettled,omitempty"`
	// Membership is the record, without the directories that members delete, and without the backup that one starts with.
	Membership    databasev1alpha1.EtcdMembership `json:"membership"`
	TargetVersion string                          `json:"targetVersion,omitempty"`

	// Login is who may log in: users whom somebody else has added are then left alone.
	Login            *databasev1alpha1.EtcdLogin       `json:"login,omitempty"`
	LastRecovery     *databasev1alpha1.EtcdRecovery    `json:"lastRecovery,omitempty"`
	LastRestore      *databasev1alpha1.EtcdLastRestore `json:"lastRestore,omitempty"`
	BegunRestoreUIDs []types.UID                       `json:"begunRestoreUIDs,omitempty"`
}

// Stamp is what the claims should be stamped with now. There must be a record.
func (s Situation) Stamp() Stamp {
	record := s.Status.Membership.DeepCopy()
	stamp := Stamp{Unsettled: record.ClusterID == "" || record.Restore != nil || s.recovery() != "",
		TargetVersion: s.Status.TargetVersion, Login: s.Status.Login, LastRecovery: s.Status.LastRecovery, LastRestore: s.Status.LastRestore,
		BegunRestoreUIDs: s.Status.BegunRestoreUIDs}
	record.FormerDataIDs, record.NamesAllData, record.Restore = nil, false, nil
	stamp.Membership = *record
	return stamp
}

// For is the stamp as it is written on the claim with that UID, in JSON.
func (s Stamp) For(claim types.UID) string {
	s.ClaimUID = claim
	text, _ := json.Marshal(s) // texts and numbers cause no error
	return string(text)
}

// Revision is that of the record: at least 1 in a stamp that was written.
func (s Stamp) Revision() int64 { return s.Membership.Revision }

// maxStamp is the longest stamp that is read, in bytes: that of five members and 32 kept data directories has a tenth of it.
const maxStamp = 64 << 10

// maxStamped is far beyond what a record reaches. A forged revision next to the largest number would leave none for the next save.
const maxStamped = 1 << 53

// ReadStamp reads the stamp of a claim. It is not ok if there is none, if it was written on another claim, or if it cannot be read.
func (c Claim) ReadStamp() (stamp Stamp, ok bool) {
	if c.Stamp == "" || len(c.Stamp) > maxStamp || json.Unmarshal([]byte(c.Stamp), &stamp) != nil {
		return Stamp{}, false
	}
	isWritten := stamp.Revision() > 0 && stamp.Revision() < maxStamped && isWellFormed(stamp.Membership)
	return stamp, isWritten && stamp.ClaimUID == c.UID && c.UID != ""
}

// isWellFormed reports whether a record can be one that this operator has written.
func isWellFormed(record databasev1alpha1.EtcdMembership) bool {
	names := map[string]bool{}
	for _, m := range record.Members {
		ordinal := Ordinal(m.Name)
		_, err := ParseID(m.ID)
		isNamed := ordinal >= 0 && ordinal < MaxSize && !names[m.Name] && (m.ID == "" || err == nil)
		if !isNamed || m.DataID == "" || strings.ContainsAny(m.DataID, "/.") {
			return false
		}
		names[m.Name] = true
	}
	return record.Token != "" && len(names) > 0
}

// LastStamped is the highest revision that a claim is stamped with; 0 if none is.
func (w World) LastStamped() int64 {
	var last int64
	for _, claim := range w.Claims {
		if stamp, ok := claim.ReadStamp(); ok {
			last = max(last, stamp.Revision())
		}
	}
	return last
}

// AreStampsDue reports whether a claim lacks the stamp of the present record. Before a cluster has formed there is nothing to continue
// from, and only the stamps of an earlier record are replaced.
func (s Situation) AreStampsDue() bool {
	if s.Status.Membership == nil || !s.HasStorage || len(s.Claims) == 0 || s.Status.Membership.ClusterID == "" && s.LastStamped() == 0 {
		return false
	}
	stamp := s.Stamp()
	return slices.ContainsFunc(s.Claims, func(c Claim) bool { return !c.Goes && c.Stamp != stamp.For(c.UID) })
}

// IsRevisionTaken reports whether the record needs another revision: it has none yet, or a claim has another record of this revision or of
// a later one, because somebody has restored an earlier status.
func (s Situation) IsRevisionTaken() bool {
	stamp := s.Stamp()
	return stamp.Revision() == 0 || slices.ContainsFunc(s.Claims, func(c Claim) bool {
		found, ok := c.ReadStamp()
		return ok && (found.Revision() > stamp.Revision() || found.Revision() == stamp.Revision() && c.Stamp != stamp.For(c.UID))
	})
}
