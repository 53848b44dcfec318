package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RedisNodeState is what a node is up to.
// +kubebuilder:validation:Enum=Fenced;Syncing;InSync;Master;Loading;Busy;Unreachable
type RedisNodeState string

const (
	// RedisFenced : follows no server and takes no writes; how every server starts.
	RedisFenced RedisNodeState = "Fenced"
	// RedisSyncing : follows the master and has not caught up.
	RedisSyncing RedisNodeState = "Syncing"
	// RedisInSync : follows the master's stream.
	RedisInSync RedisNodeState = "InSync"
	// RedisMaster : takes writes.
	RedisMaster RedisNodeState = "Master"
	// RedisLoading : reads its data from disk.
	RedisLoading RedisNodeState = "Loading"
	// RedisBusy : a script, a function or a module keeps it from answering anything but BUSY.
	RedisBusy RedisNodeState = "Busy"
	// RedisUnreachable : did not answer.
	RedisUnreachable RedisNodeState = "Unreachable"
)

// RedisNode is one node as last seen.
type RedisNode struct {
	// Pod of this node.
	Name string `json:"name"`
	// What the server does: Master, InSync, Syncing, Fenced, Loading, Busy or Unreachable.
	State RedisNodeState `json:"state"`
	// ID that the server process gave itself when it started. A restarted server has another one.
	// +optional
	RunID string `json:"runID,omitempty"`
	// Replication ID of the history that the node's data belongs to.
	// +optional
	ReplID string `json:"replID,omitempty"`
	// Software version of the server.
	// +optional
	Version string `json:"version,omitempty"`
}

// RedisProcess is one server process: what it is and where it was met.
type RedisProcess struct {
	// Pod of this process.
	Name string `json:"name"`
	// UID that distinguishes the pod from others of its name.
	PodUID types.UID `json:"podUID"`
	// IP address of the pod.
	Address string `json:"address"`
	// ID that the server process gave itself when it started. A restarted server has another one.
	RunID string `json:"runID"`
}

// RedisReplication is what a failover must know, saved before each step that
// it is needed for.
type RedisReplication struct {
	// Number of the mastership that these facts belong to. It is lower than status.epoch while a promotion is under
	// way.
	Epoch int64 `json:"epoch"`
	// Replication ID of the master's history. Offsets compare only within one history.
	ReplID string `json:"replID"`
	// The master's replication offset, in bytes, when its history was recorded, or when a process last left the sync
	// set. A server with less of this history may lack confirmed writes.
	// +optional
	StartOffset int64 `json:"startOffset,omitempty"`
	// Replication ID of the history that this one continues from status.replication.startOffset on. Empty if there is
	// none, or if the master had written before it was recorded.
	// +optional
	FormerReplID string `json:"formerReplID,omitempty"`
	// Process that accepts writes.
	Master RedisProcess `json:"master"`
	// Processes that may have confirmed a write, sorted by name.
	// +listType=map
	// +listMapKey=name
	SyncSet []RedisProcess `json:"syncSet"`
	// How many replicas had to follow closely when the master accepted its writes.
	EffectiveMinReplicas int32 `json:"effectiveMinReplicas"`
}

// RedisFailover records the last change of the master.
type RedisFailover struct {
	// Number of the mastership that it started.
	Epoch int64 `json:"epoch"`
	// Pod that was master before; empty for the first master.
	// +optional
	From string `json:"from,omitempty"`
	// UID of the pod that was master before.
	// +optional
	FromPodUID types.UID `json:"fromPodUID,omitempty"`
	// Pod that became master.
	To string `json:"to"`
	// Cause of the change, such as MasterLost or SwitchoverRequested.
	Reason string `json:"reason"`
	// Proof that the former master accepts no writes.
	// +optional
	Evidence string `json:"evidence,omitempty"`
	// When the operator started to act.
	DetectedAt metav1.MicroTime `json:"detectedAt"`
	// When the new master was made.
	// +optional
	PromotedAt *metav1.MicroTime `json:"promotedAt,omitempty"`
	// When the Service was pointed at the new master.
	// +optional
	RoutedAt *metav1.MicroTime `json:"routedAt,omitempty"`
	// Whether it was forced by an annotation, so that confirmed writes may be lost.
	// +optional
	Unsafe bool `json:"unsafe,omitempty"`
}

// RedisBinding names the Secret that an application needs (servicebinding.io).
type RedisBinding struct {
	// Secret that an application needs: type, username, password, host, port and uri; with spec.tls also ssl and
	// ca.crt.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Application Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	Name string `json:"name"`
}

// RedisStatus says what was observed.
type RedisStatus struct {
	// The metadata.generation that this status describes. While it is lower than the object's, the status is out of
	// date.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Pod that accepts writes, or was the last to do so. The Service <name> leads to it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Master string `json:"master,omitempty"`

	// Pod that is to accept writes. It differs from status.master during a change.
	// +optional
	TargetMaster string `json:"targetMaster,omitempty"`

	// Number of masterships so far. It rises before each promotion.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Epoch int64 `json:"epoch,omitempty"`

	// Value of status.epoch when the present data set started; 0 for the first one. It rises when all data was lost,
	// when a human allowed to continue without the latest data, and when a backup was restored: earlier backups then
	// have data that this Redis no longer has.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DatasetEpoch int64 `json:"datasetEpoch,omitempty"`

	// Manager process in charge of the servers, as in its Lease: the name of its pod, then its own. One that takes
	// over writes its own before its first command to them.
	// +optional
	HolderIdentity string `json:"holderIdentity,omitempty"`

	// Number of pods that exist, the master included.
	// +optional
	Replicas int32 `json:"replicas"`

	// Number of nodes that serve: the master and the replicas in sync.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready Nodes"
	ReadyReplicas int32 `json:"readyReplicas"`

	// Labels of the pods, by which an autoscaler finds them.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Host and port of the Service that leads to the master.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// Host and port of the Service that leads to the replicas.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Read Endpoint"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ReadEndpoint string `json:"readEndpoint,omitempty"`

	// Which Secret an application needs to connect.
	// +optional
	Binding *RedisBinding `json:"binding,omitempty"`

	// Servers as last seen, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Nodes []RedisNode `json:"nodes"`

	// Record of the master and its replicas, which a failover decides by.
	// +optional
	Replication *RedisReplication `json:"replication,omitempty"`

	// Progress of loading spec.bootstrap.backup.
	// +optional
	Restore *RedisRestore `json:"restore,omitempty"`

	// The latest change of the master.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last Failover"
	LastFailover *RedisFailover `json:"lastFailover,omitempty"`

	// State of the object, with reasons: Ready, Available, Progressing, Degraded, FailoverPossible, SplitBrain,
	// CredentialsInSync, SettingsInSync, StorageResizing, Stalled, Paused, UpdateAvailable; with spec.tls
	// CertificatesInSync.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
