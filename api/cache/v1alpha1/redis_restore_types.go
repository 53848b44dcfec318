package v1alpha1

import (
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// RedisBootstrap is what a Redis without data starts with. It is read only until there is a first master: what is added, or
// dropped, later has no effect.
type RedisBootstrap struct {
	// Which backup the first master starts with. While it cannot be loaded, there is no master. It cannot be changed;
	// remove spec.bootstrap to start empty.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	// +kubebuilder:validation:XValidation:rule="...",message="bootstrap.backup cannot change; make another Redis for another backup"
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Backup commonv1.BackupReference `json:"backup"`
}

// RedisRestorePhase is how far the loading of a backup is.
// +kubebuilder:validation:Enum=Fetching;Loading;Completed
type RedisRestorePhase string

const (
	// RedisRestoreFetching : the pod <name>-restore fetches the backup.
	RedisRestoreFetching RedisRestorePhase = "Fetching"
	// RedisRestoreLoading : a node loads it.
	RedisRestoreLoading RedisRestorePhase = "Loading"
	// RedisRestoreCompleted : there was a master since, and no backup is loaded any more.
	RedisRestoreCompleted RedisRestorePhase = "Completed"
)

// RedisRestore is what the loading of a backup must know, saved before each step that it is needed for.
type RedisRestore struct {
	// Progress of the restore: Fetching, Loading or Completed.
	Phase RedisRestorePhase `json:"phase"`
	// Name of the backup that was fetched, as status.items of the RedisBackup has it. No other is loaded from then on.
	// +optional
	Item string `json:"item,omitempty"`
	// Process that loads the backup. Only its data may be that of the backup.
	// +optional
	Loader *RedisProcess `json:"loader,omitempty"`
	// Replication ID of the loader's history, once it has loaded everything.
	// +optional
	ReplID string `json:"replID,omitempty"`
	// How often the pod <name>-restore has failed so far.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// UID of the last pod that was counted as a failure.
	// +optional
	FailedPodUID types.UID `json:"failedPodUID,omitempty"`
}
