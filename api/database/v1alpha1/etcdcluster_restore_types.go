package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// EtcdBootstrap says what a new cluster starts with.
type EtcdBootstrap struct {
	// backup of an EtcdCluster that the first member starts with. Until it can be fetched and restored no cluster is formed:
	// condition Degraded says why. It is read only while there is no data.
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Backup commonv1.BackupReference `json:"backup"`
}

// EtcdRestoredBackup is the backup that a cluster started with.
type EtcdRestoredBackup struct {
	// item is the name of the backup.
	Item string `json:"item"`
	// sha256 of its data in the store, in hexadecimal.
	SHA256 string `json:"sha256"`
	// revision of the keys in it.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// serverVersion that it was read from.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`
}

// EtcdMembershipRestore is the backup that the first member of a cluster starts with, until it was seen to run.
type EtcdMembershipRestore struct {
	EtcdRestoredBackup `json:",inline"`

	// restoreUID is the UID of the EtcdRestore that asked for it; empty for spec.bootstrap.
	// +optional
	RestoreUID types.UID `json:"restoreUID,omitempty"`
	// from is where the backup of that EtcdRestore is.
	// +optional
	From *commonv1.BackupReference `json:"from,omitempty"`
	// revisionBump is by how much the revisions are raised: beyond all that clients may have seen before. 0 for spec.bootstrap.
	// +optional
	RevisionBump int64 `json:"revisionBump,omitempty"`
	// keptDataIDs are the former data directories, the last 32. They are kept until the first member runs with the backup.
	// +optional
	// +listType=atomic
	KeptDataIDs []string `json:"keptDataIDs,omitempty"`
}

// EtcdNextRestore says how far an EtcdRestore is that has not started.
type EtcdNextRestore struct {
	// restoreUID is its UID.
	RestoreUID types.UID `json:"restoreUID"`
	// message says what it waits for.
	Message string `json:"message"`
}

// EtcdLastRestore reports the backup that the data came from.
type EtcdLastRestore struct {
	// time at which the first member was seen to have started with it.
	Time metav1.Time `json:"time"`

	EtcdRestoredBackup `json:",inline"`

	// restoreUID is the UID of the EtcdRestore that asked for it; empty for spec.bootstrap.
	// +optional
	RestoreUID types.UID `json:"restoreUID,omitempty"`
	// revisionBump is by how much the revisions were raised.
	// +optional
	RevisionBump int64 `json:"revisionBump,omitempty"`
}
