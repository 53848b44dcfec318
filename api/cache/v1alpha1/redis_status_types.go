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
	// name of the pod.
	Name string `json:"name"`
	// state of the node.
	State RedisNodeState `json:"state"`
	// runID of the server process.
	// +optional
	RunID string `json:"runID,omitempty"`
	// replID of the history that the node's data belongs to.
	// +optional
	ReplID string `json:"replID,omitempty"`
	// version of the server.
	// +optional
	Version string `json:"version,omitempty"`
}

// RedisProcess is one server process: what it is and where it was met.
type RedisProcess struct {
	// name of the pod.
	Name string `json:"name"`
	// podUID of the pod.
	PodUID types.UID `json:"podUID"`
	// address of the pod.
	Address string `json:"address"`
	// runID of the process: a restarted server is another one.
	RunID string `json:"runID"`
}

// RedisReplication is what a failover must know, saved before each step that
// it is needed for.
type RedisReplication struct {
	// epoch that these facts belong to. Behind status.epoch while a promotion is under way.
	Epoch int64 `json:"epoch"`
	// replID of the master's history. Offsets compare only within one.
	ReplID string `json:"replID"`
	// startOffset is the master's replication offset, in bytes, when its history was recorded, or when
	// a process last left the syncSet. Who has less of this history may lack confirmed writes.
	// +optional
	StartOffset int64 `json:"startOffset,omitempty"`
	// formerReplID is the history that this one continues from startOffset on. It is empty when
	// there is none, or when the master had written before it was recorded.
	// +optional
	FormerReplID string `json:"formerReplID,omitempty"`
	// master is the process that takes writes.
	Master RedisProcess `json:"master"`
	// syncSet are the processes that may have confirmed a write, sorted by name.
	// +listType=map
	// +listMapKey=name
	SyncSet []RedisProcess `json:"syncSet"`
	// effectiveMinReplicas is the W that the master's writes were taken under.
	EffectiveMinReplicas int32 `json:"effectiveMinReplicas"`
}

// RedisFailover records the last change of the master.
type RedisFailover struct {
	// epoch that it started.
	Epoch int64 `json:"epoch"`
	// from is the master before, empty for the first.
	// +optional
	From string `json:"from,omitempty"`
	// fromPodUID is its pod's.
	// +optional
	FromPodUID types.UID `json:"fromPodUID,omitempty"`
	// to is the master since.
	To string `json:"to"`
	// reason for the change, such as MasterLost or SwitchoverRequested: one of the constants of api/common/v1.
	Reason string `json:"reason"`
	// evidence that the old master takes no writes.
	// +optional
	Evidence string `json:"evidence,omitempty"`
	// detectedAt, when the operator started to act.
	DetectedAt metav1.MicroTime `json:"detectedAt"`
	// promotedAt, when the new master was made.
	// +optional
	PromotedAt *metav1.MicroTime `json:"promotedAt,omitempty"`
	// routedAt, when the Service was pointed at it.
	// +optional
	RoutedAt *metav1.MicroTime `json:"routedAt,omitempty"`
	// unsafe is true when it was forced by annotation.
	// +optional
	Unsafe bool `json:"unsafe,omitempty"`
}

// RedisBinding names the Secret that an application needs (servicebinding.io).
type RedisBinding struct {
	// name of the Secret: type, username, password, host, port, uri; with tls also ssl and ca.crt.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Application Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	Name string `json:"name"`
}

// RedisStatus says what was observed.
type RedisStatus struct {
	// observedGeneration is the generation of this object that the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// master is the pod that takes writes, or took the last; the Service <name> points at it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Master string `json:"master,omitempty"`

	// targetMaster is the pod that is to take writes; differs from master during a change.
	// +optional
	TargetMaster string `json:"targetMaster,omitempty"`

	// epoch counts the masters. It rises before each promotion.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Epoch int64 `json:"epoch,omitempty"`

	// datasetEpoch is the epoch in which the present data set started. It rises when all data was lost, when a human allowed to
	// continue without the latest data, and when a backup was restored: backups from before then have data that this Redis no
	// longer has. It is 0 while this Redis has the data set that it started with, and stays the same in every other change of the
	// master, and when a hibernated Redis wakes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DatasetEpoch int64 `json:"datasetEpoch,omitempty"`

	// holderIdentity is the manager process that is in charge of the servers, as in its Lease: the name of its pod, then
	// its own. Another that takes over writes its own before its first command to them.
	// +optional
	HolderIdentity string `json:"holderIdentity,omitempty"`

	// replicas that exist, the master included.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas are the master and the replicas in sync.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready Nodes"
	ReadyReplicas int32 `json:"readyReplicas"`

	// selector of the pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// endpoint is host:port of the Service that points at the master.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// readEndpoint is host:port of the Service in front of the replicas.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Read Endpoint"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ReadEndpoint string `json:"readEndpoint,omitempty"`

	// binding names the Secret that an application needs.
	// +optional
	Binding *RedisBinding `json:"binding,omitempty"`

	// nodes as last seen, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Nodes []RedisNode `json:"nodes"`

	// replication is what a failover must know.
	// +optional
	Replication *RedisReplication `json:"replication,omitempty"`

	// restore is how far the loading of spec.bootstrap.backup is.
	// +optional
	Restore *RedisRestore `json:"restore,omitempty"`

	// lastFailover records the last change of the master.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last Failover"
	LastFailover *RedisFailover `json:"lastFailover,omitempty"`

	// conditions: Ready, Available, Progressing, Degraded, FailoverPossible, SplitBrain, CredentialsInSync, SettingsInSync, StorageResizing,
	// CertificatesInSync (with tls), Stalled, Paused, UpdateAvailable.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
