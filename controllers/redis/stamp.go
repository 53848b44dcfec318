package redis

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

const (
	roleMaster  = "master"
	roleReplica = "replica"
	// labelRole on pods is what the replicas' Service selects by.
	labelRole = "mainstay-operator.io/role"
	// gateInSync keeps a pod unready until its data is there.
	gateInSync = corev1.PodConditionType("mainstay-operator.io/in-sync")
)

// Annotations of a volume's claim: what the data on it is worth. They outlive
// pods and the object itself, and change with roles, never with traffic.
const (
	annotationEpoch  = "mainstay-operator.io/epoch"
	annotationReplID = "mainstay-operator.io/replid"
	annotationInSync = string(gateInSync)
	annotationRole   = labelRole
)

// standing tells what a volume can be trusted to hold of its epoch: the higher, the more.
type standing int

const (
	behind  standing = iota // it may lack what others have
	synced                  // of a replica that has reached the history and confirms its writes
	leading                 // of the master: it has all that the epoch confirmed
)

// stamp is what the operator has written on a volume.
type stamp struct {
	epoch    int64  // epoch of its data, 0 when it was never stamped
	replID   string // history of that epoch
	standing standing
}

// volume is the claim of one node as last seen.
type volume struct {
	stamp
	claim *corev1.PersistentVolumeClaim
}

// readStamp reads the stamp of a claim. What cannot be read counts as unstamped.
func readStamp(annotations map[string]string) stamp {
	epoch, err := strconv.ParseInt(annotations[annotationEpoch], 10, 64)
	s := stamp{epoch: epoch, replID: annotations[annotationReplID]}
	switch {
	case err != nil || s.epoch <= 0:
		return stamp{}
	case annotations[annotationRole] == roleMaster:
		s.standing = leading
	case annotations[annotationInSync] == strconv.FormatBool(true):
		s.standing = synced
	}
	return s
}

func (s stamp) annotations() map[string]string {
	role := roleReplica
	if s.standing == leading {
		role = roleMaster
	}
	return map[string]string{
		annotationEpoch:  strconv.FormatInt(s.epoch, 10),
		annotationReplID: s.replID,
		annotationRole:   role,
		annotationInSync: strconv.FormatBool(s.standing != behind),
	}
}

func (s stamp) compare(other stamp) int {
	return cmp.Or(cmp.Compare(s.epoch, other.epoch), cmp.Compare(s.standing, other.standing))
}

// isTrusted reports whether a volume has all that its epoch confirmed, if it has anything.
func (s stamp) isTrusted() bool { return s.standing != behind }
