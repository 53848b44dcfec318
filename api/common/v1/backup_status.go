package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BackupStatus is what every kind of backup reports.
type BackupStatus struct {
	// The metadata.generation that this status describes. While it is lower than the object's, the status is out of
	// date.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The latest backup that was due. It may be under way.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Latest Run"
	Run *BackupRun `json:"run,omitempty"`

	// The newest backup that was written.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Latest Backup"
	Last *BackupItem `json:"last,omitempty"`

	// The newest backup that a server was started from.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Latest Verified Backup"
	LastVerified *BackupItem `json:"lastVerified,omitempty"`

	// When the next backup is due, or has been since it waits for what it needs.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Next Backup"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Next *metav1.Time `json:"next,omitempty"`

	// The latest backup that was due but not made; empty once a later one succeeds.
	// +optional
	LastFailure *BackupFailure `json:"lastFailure,omitempty"`

	// How many backups were due and never started.
	// +optional
	Missed int64 `json:"missed,omitempty"`

	// Why the latest run deleted no backup, although spec.retention may have asked for it: clocks disagree, or data
	// may have been lost. Empty while retention works.
	// +optional
	RetentionHeld string `json:"retentionHeld,omitempty"`

	// Why the latest backup of an etcd was compared with no other member; empty if it was.
	// +optional
	NotCompared string `json:"notCompared,omitempty"`

	// Which members of an etcd had other data than most when the latest backup was made. None of them was read.
	// +optional
	MembersDiffer string `json:"membersDiffer,omitempty"`

	// The newest backups in the store, at most 20, the newest first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Newest Backups"
	Items []BackupItem `json:"items,omitempty"`

	// State of the object, with reasons: Ready, Progressing, Degraded, Stalled, Suspended; without a schedule also
	// Complete or Failed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BackupItem is one backup in the store.
type BackupItem struct {
	// When the backup was started, and what makes it unique, such as 20260102T013000Z-89abcdef.
	Name string `json:"name"`
	// When the backup was started.
	Time metav1.Time `json:"time"`
	// Length of the data in the store, in bytes.
	Size int64 `json:"size"`
	// Checksum of the data in the store, in hexadecimal.
	SHA256 string `json:"sha256"`
	// The etcd's revision at which the data was read.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// The Redis master's replication offset at which the data was read.
	// +optional
	Offset int64 `json:"offset,omitempty"`
	// Software version of the server that the data was read from.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`
	// Whether the backup was read back from the store and a server was started from it.
	// +optional
	Verified bool `json:"verified,omitempty"`
	// Member of an etcd that had the same data as the member that was read; empty if none was compared.
	// +optional
	ComparedWith string `json:"comparedWith,omitempty"`
}

// BackupRun is one backup that is due, and the attempts at it. It is saved before its pod is made.
type BackupRun struct {
	// When the backup was due.
	ScheduledTime metav1.Time `json:"scheduledTime"`
	// Number of tries so far, the present one included.
	Attempt int32 `json:"attempt"`
	// Name under which this attempt writes; no other attempt has the same.
	Item string `json:"item"`
	// Names of earlier attempts whose remains this attempt deletes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Leftovers []string `json:"leftovers,omitempty"`
	// Pod of this attempt, which is made at most once.
	PodName string `json:"podName"`
	// UID of this attempt's pod, once it was seen.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`
	// Container image of the operator that the pod has.
	Image string `json:"image"`
	// When this attempt started.
	StartTime metav1.Time `json:"startTime"`
	// Progress of the run: Running, Retrying, Succeeded or Failed.
	Phase BackupPhase `json:"phase"`
	// When this attempt ended.
	// +optional
	FinishTime *metav1.Time `json:"finishTime,omitempty"`
	// How the latest attempt that has ended did so, in the store's or the server's words.
	// +optional
	Message string `json:"message,omitempty"`
	// Whether the latest attempt that has ended would fail again in the same way, until somebody changes something.
	// +optional
	Permanent bool `json:"permanent,omitempty"`
	// Length of the data before compression, in bytes, in the latest attempt that read it; a lower bound if that
	// attempt ran out of room. The next attempt requests room on its node by it.
	// +optional
	RawSize int64 `json:"rawSize,omitempty"`
	// Whether the pod was deleted because it had not started within spec.startingDeadline.
	// +optional
	Stopped bool `json:"stopped,omitempty"`
}

// BackupFailure is a backup that was due but not made.
type BackupFailure struct {
	// When the backup was due.
	ScheduledTime metav1.Time `json:"scheduledTime"`
	// BackupMissed if it never started, BackupFailed if no attempt succeeded.
	Reason string `json:"reason"`
	// Why the backup was not made.
	Message string `json:"message"`
}

// BackupPhase is how far a run is.
// +kubebuilder:validation:Enum=Running;Retrying;Succeeded;Failed
type BackupPhase string

const (
	// BackupRunning : an attempt is under way.
	BackupRunning BackupPhase = "Running"
	// BackupRetrying : an attempt failed, and another one follows.
	BackupRetrying BackupPhase = "Retrying"
	// BackupSucceeded : the backup is in the store, and verified if that is asked for.
	BackupSucceeded BackupPhase = "Succeeded"
	// BackupFailed : no attempt succeeded in time.
	BackupFailed BackupPhase = "Failed"
)
