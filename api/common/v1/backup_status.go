package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BackupStatus is what every kind of backup reports.
type BackupStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// run is the latest one, which may be under way.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Latest Run"
	Run *BackupRun `json:"run,omitempty"`

	// last backup that was written.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Latest Backup"
	Last *BackupItem `json:"last,omitempty"`

	// lastVerified is the latest backup that a server was started from.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Latest Verified Backup"
	LastVerified *BackupItem `json:"lastVerified,omitempty"`

	// next is when the next backup is due, or has been since it waits for what it needs.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Next Backup"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Next *metav1.Time `json:"next,omitempty"`

	// lastFailure is the latest backup that was due but not made; cleared when a later one succeeds.
	// +optional
	LastFailure *BackupFailure `json:"lastFailure,omitempty"`

	// missed counts the backups that were due and never started.
	// +optional
	Missed int64 `json:"missed,omitempty"`

	// retentionHeld says why the latest run deleted no backup, although retention may have asked for it: clocks disagree, or data may
	// have been lost. Empty while retention works.
	// +optional
	RetentionHeld string `json:"retentionHeld,omitempty"`

	// notCompared says why the latest backup of an etcd was compared with no other member. Empty if it was.
	// +optional
	NotCompared string `json:"notCompared,omitempty"`

	// membersDiffer says which members of an etcd had other data than most when the latest backup was made. None of them was read.
	// +optional
	MembersDiffer string `json:"membersDiffer,omitempty"`

	// items are the newest backups in the store, at most 20, the newest first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Newest Backups"
	Items []BackupItem `json:"items,omitempty"`

	// conditions: Ready, Progressing, Degraded, Stalled, Suspended, and Complete or Failed of a backup without a schedule.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BackupItem is one backup in the store.
type BackupItem struct {
	// name of the backup: when it was started, and what makes it unique.
	Name string `json:"name"`
	// time when it was started.
	Time metav1.Time `json:"time"`
	// size of the data in the store, in bytes.
	Size int64 `json:"size"`
	// sha256 of the data in the store, in hexadecimal.
	SHA256 string `json:"sha256"`
	// revision of an etcd at which the data was read.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// offset of a Redis master's replication at which the data was read.
	// +optional
	Offset int64 `json:"offset,omitempty"`
	// serverVersion that the data was read from.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`
	// verified: the backup was read back from the store and a server was started from it.
	// +optional
	Verified bool `json:"verified,omitempty"`
	// comparedWith names a member of an etcd that had the same data as the member that was read. Empty: none was compared.
	// +optional
	ComparedWith string `json:"comparedWith,omitempty"`
}

// BackupRun is one backup that is due, and the attempts at it. It is saved before its pod is made.
type BackupRun struct {
	// scheduledTime is when it was due.
	ScheduledTime metav1.Time `json:"scheduledTime"`
	// attempt counts from 1.
	Attempt int32 `json:"attempt"`
	// item is the name under which this attempt writes; no other attempt has the same.
	Item string `json:"item"`
	// leftovers are names of earlier attempts whose leftovers this attempt deletes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Leftovers []string `json:"leftovers,omitempty"`
	// podName of this attempt, which is made at most once.
	PodName string `json:"podName"`
	// podUID of this attempt's pod, once it was seen.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`
	// image of the operator that the pod has.
	Image string `json:"image"`
	// startTime of this attempt.
	StartTime metav1.Time `json:"startTime"`
	// phase of the run.
	Phase BackupPhase `json:"phase"`
	// finishTime of this attempt.
	// +optional
	FinishTime *metav1.Time `json:"finishTime,omitempty"`
	// message says how the latest attempt that has ended did so, in the store's or the server's words.
	// +optional
	Message string `json:"message,omitempty"`
	// permanent: the latest attempt that has ended would fail again in the same way, until somebody changes something.
	// +optional
	Permanent bool `json:"permanent,omitempty"`
	// rawSize is the size of the data before compression, in bytes, in the latest attempt that read it; a lower bound if that attempt ran
	// out of room. The next attempt requests room on its node by it.
	// +optional
	RawSize int64 `json:"rawSize,omitempty"`
	// stopped: the pod was deleted because it had not started within startingDeadline.
	// +optional
	Stopped bool `json:"stopped,omitempty"`
}

// BackupFailure is a backup that was due but not made.
type BackupFailure struct {
	// scheduledTime is when it was due.
	ScheduledTime metav1.Time `json:"scheduledTime"`
	// reason: BackupMissed if it never started, BackupFailed if no attempt succeeded.
	Reason string `json:"reason"`
	// message says why.
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
