package topology

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

const (
	// RoleMaster is the role of the master, on pods and on volumes.
	RoleMaster = "master"
	// RoleReplica is the role of all others.
	RoleReplica = "replica"
	// LabelRole on pods is what the replicas' Service selects by.
	LabelRole = "mainstay-operator.io/role"
	// GateInSync keeps a pod unready until its data is there.
	GateInSync = corev1.PodConditionType("mainstay-operator.io/in-sync")
)

// Annotations of a volume's claim: what the data on it is worth. They outlive
// pods and the object itself, and change with roles, never with traffic.
const (
	annotationEpoch  = "mainstay-operator.io/epoch"
	annotationReplID = "mainstay-operator.io/replid"
	annotationInSync = string(GateInSync)
	annotationRole   = LabelRole
)

// Standing says what a volume can be trusted to hold of its epoch: the higher, the more.
type Standing int

// The standings, least first.
const (
	Behind  Standing = iota // it may lack what others have
	Synced                  // of a replica that has reached the history and confirms its writes
	Leading                 // of the master: it has all that the epoch confirmed
)

// Stamp is what the operator has written on a volume.
type Stamp struct {
	Epoch    int64  // epoch of its data, 0 when it was never stamped
	ReplID   string // history of that epoch
	Standing Standing
}

// Volume is the claim of one node as last seen.
type Volume struct {
	Stamp
	Claim *corev1.PersistentVolumeClaim
}

// ReadStamp reads the stamp of a claim. What cannot be read counts as unstamped.
func ReadStamp(annotations map[string]string) Stamp {
	epoch, err := strconv.ParseInt(annotations[annotationEpoch], 10, 64)
	s := Stamp{Epoch: epoch, ReplID: annotations[annotationReplID]}
	switch {
	case err != nil || s.Epoch <= 0:
		return Stamp{}
	case annotations[annotationRole] == RoleMaster:
		s.Standing = Leading
	case annotations[annotationInSync] == strconv.FormatBool(true):
		s.Standing = Synced
	}
	return s
}

// Annotations are how a claim bears the stamp; ReadStamp reads them.
func (s Stamp) Annotations() map[string]string {
	role := RoleReplica
	if s.Standing == Leading {
		role = RoleMaster
	}
	return map[string]string{
		annotationEpoch:  strconv.FormatInt(s.Epoch, 10),
		annotationReplID: s.ReplID,
		annotationRole:   role,
		annotationInSync: strconv.FormatBool(s.Standing != Behind),
	}
}

func (s Stamp) compare(other Stamp) int {
	return cmp.Or(cmp.Compare(s.Epoch, other.Epoch), cmp.Compare(s.Standing, other.Standing))
}

// isTrusted reports whether a volume has all that its epoch confirmed, if it has anything.
func (s Stamp) isTrusted() bool { return s.Standing != Behind }
