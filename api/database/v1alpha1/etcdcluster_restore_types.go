package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// EtcdBootstrap says what a new cluster starts with.
type EtcdBootstrap struct {
	// Which backup of an EtcdCluster the first member starts with. While it cannot be restored, no cluster is formed,
	// and condition Degraded says why. It is read only while there is no data.
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Backup commonv1.BackupReference `json:"backup"`
}

// EtcdRestoredBackup is the backup that a cluster started with.
type EtcdRestoredBackup struct {
	// Name of the backup that the data came from.
	Item string `json:"item"`
	// Checksum of the data in the store, in hexadecimal.
	SHA256 string `json:"sha256"`
	// The etcd's revision at which the data was read.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Software version of the server that the data was read from.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`
}

// EtcdMembershipRestore is the backup that the first member of a cluster starts with, until it was seen to run.
type EtcdMembershipRestore struct {
	EtcdRestoredBackup `json:",inline"`

	// UID of the EtcdRestore that asked for it; empty for spec.bootstrap.
	// +optional
	RestoreUID types.UID `json:"restoreUID,omitempty"`
	// Where the backup of that EtcdRestore is.
	// +optional
	From *commonv1.BackupReference `json:"from,omitempty"`
	// By how much the revisions are raised, beyond all that clients may have seen before; 0 for spec.bootstrap.
	// +optional
	RevisionBump int64 `json:"revisionBump,omitempty"`
	// Former data directories, the last 32. They are kept until the first member runs with the backup.
	// +optional
	// +listType=atomic
	KeptDataIDs []string `json:"keptDataIDs,omitempty"`
}

// EtcdNextRestore says how far an EtcdRestore is that has not started.
type EtcdNextRestore struct {
	// UID of the EtcdRestore that is to start next.
	RestoreUID types.UID `json:"restoreUID"`
	// What the EtcdRestore waits for.
	Message string `json:"message"`
}

// EtcdLastRestore reports the backup that the data came from.
type EtcdLastRestore struct {
	// When the first member was seen to have started with the backup.
	Time metav1.Time `json:"time"`

	EtcdRestoredBackup `json:",inline"`

	// UID of the EtcdRestore that asked for it; empty for spec.bootstrap.
	// +optional
	RestoreUID types.UID `json:"restoreUID,omitempty"`
	// By how much the revisions were raised, beyond all that clients may have seen before; 0 for spec.bootstrap.
	// +optional
	RevisionBump int64 `json:"revisionBump,omitempty"`
}
