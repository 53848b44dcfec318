// Package launcher starts a member's etcd only when, and on the data that, the operator allows. It is linked into a program that
// is copied into each pod, so it imports as little as it can.
package launcher

import "github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"

// Permit is what the operator writes on a pod that may start: an annotation, in JSON.
type Permit struct {
	// Pod is the UID of the pod that it is for: another pod of the same name must not follow it.
	Pod string `json:"pod"`
	// Data is the name of the data directory.
	Data string `json:"data"`
	// Fresh is true for the one pod that may start with no data directory.
	Fresh bool `json:"fresh,omitempty"`
	// Ran is true once the member was seen to run: its log must be there.
	Ran bool `json:"ran,omitempty"`
	// Log is an entry that the member's log had on the disk for certain, and a term of it or an earlier one: a log that ends before it is
	// an earlier state. It is nil if none is known.
	Log *wal.End `json:"log,omitempty"`
	// MemberID is the ID, in hexadecimal, under which the others have added a member that joins them; empty for one that forms
	// the cluster. It starts under no other.
	MemberID string `json:"memberID,omitempty"`
	// Force names the recovery by which the member becomes a cluster of one, without those that are lost; empty for none. It
	// does so once for each.
	Force string `json:"force,omitempty"`
	// MinRevision is the revision of the keys from which a human has allowed that recovery to continue: it serves from no earlier one.
	MinRevision int64 `json:"minRevision,omitempty"`
	// Restore is the backup that the member starts with, while it has no log; nil if it starts with none.
	Restore *Restore `json:"restore,omitempty"`
	// Drop are the directories of former members. Nothing else is dropped: what somebody else has left is not ours.
	Drop []string `json:"drop,omitempty"`
	// Known are the directories that may be on the member's volume: its own, those to be dropped and those to be kept. It is empty if the
	// operator does not know them all. It has at most 97: the member's own, and 32 of each of three lists of the record (maxDataIDs in
	// package fleet). That is some 3 KB of the 256 KiB that Kubernetes allows for the annotations of a pod.
	Known []string `json:"known,omitempty"`
	// State, Token and InitialCluster become etcd's --initial-cluster-state, --initial-cluster-token and --initial-cluster.
	State          string   `json:"state"`
	Token          string   `json:"token"`
	InitialCluster []string `json:"initialCluster"`
}

// Restore is a backup, and where it is.
type Restore struct {
	// URL of the pod that has fetched the backup, without a path; empty while there is none.
	URL string `json:"url,omitempty"`
	// Item is the name of the backup, and SHA256 the sum of its data in the store.
	Item   string `json:"item"`
	SHA256 string `json:"sha256"`
	// RevisionBump is by how much the revisions are raised, and the earlier ones marked as compacted, so that earlier clients
	// notice; 0 for a new cluster.
	RevisionBump uint64 `json:"revisionBump,omitempty"`
	// OperatorUsers are the names of the users that the operator sets in a cluster that requires a login; empty in one that does not.
	// If there are any, the data requires a login before it is served, and no user of the backup keeps such a name.
	OperatorUsers []string `json:"operatorUsers,omitempty"`
}

// Values of Permit.State.
const (
	StateNew      = "new"
	StateExisting = "existing"
)
