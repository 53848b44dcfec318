package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// EtcdMembership is the record of who is a member. It is saved before each change that it speaks of, so that the next
// operator continues where the last one stopped.
type EtcdMembership struct {
	// Keeps the members apart from those of every other cluster when they meet for the first time.
	Token string `json:"token"`

	// ID of the cluster in hexadecimal, as etcd reports it; empty until the members have met.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// Number of times that this record was saved. The PersistentVolumeClaims of the members are stamped with the
	// record and this number, so that it outlives the object.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// Version that the cluster was formed with.
	// +optional
	InitialVersion string `json:"initialVersion,omitempty"`

	// Index of raft's log. Once every member has applied it, no log has an entry any more that only etcd 3.5 and 3.6
	// can read. It is set before a cluster that was formed with 3.5 goes to 3.7.
	// +optional
	ReadableFrom int64 `json:"readableFrom,omitempty"`

	// Recorded members, sorted by name. Their pods may start an etcd.
	// +listType=map
	// +listMapKey=name
	Members []EtcdRecordedMember `json:"members"`

	// Data directories of members that were removed, the last 32. A new member drops them from its volume.
	// +optional
	// +listType=atomic
	FormerDataIDs []string `json:"formerDataIDs,omitempty"`

	// Data directories of members that were given up, in a recovery or when the cluster was formed again; the last 32.
	// They stay on their volumes, next to those of later members.
	// +optional
	// +listType=atomic
	KeptDataIDs []string `json:"keptDataIDs,omitempty"`

	// Whether this record names all data directories that members of this EtcdCluster have made. A volume with the
	// data of another cluster can be recognized only then.
	// +optional
	NamesAllData bool `json:"namesAllData,omitempty"`

	// Which backup the first member starts with, until it was seen to run.
	// +optional
	Restore *EtcdMembershipRestore `json:"restore,omitempty"`

	// Addition, removal or recovery of a member that is under way; there is at most one.
	// +optional
	Change *EtcdMembershipChange `json:"change,omitempty"`
}

// EtcdRecordedMember is a recorded member: its pod may start an etcd.
type EtcdRecordedMember struct {
	// What the member and its pod are called.
	Name string `json:"name"`

	// Number of the member in hexadecimal, as etcd reports it; empty until the members have met.
	// +optional
	ID string `json:"id,omitempty"`

	// Data directory of the member. A member that lost its data is another one, with another directory.
	DataID string `json:"dataID"`

	// UID of the PersistentVolumeClaim that has its data. Another claim, such as one that was restored from a
	// snapshot, does not have all that the member has confirmed.
	// +optional
	ClaimUID types.UID `json:"claimUID,omitempty"`

	// UID of the only pod that may start with an empty data directory; empty until a pod was permitted to. It is the
	// UID of no pod if the member's volume is reused from a deleted EtcdCluster.
	// +optional
	StartedBy types.UID `json:"startedBy,omitempty"`

	// Whether the member was seen to run. Its data must be there from then on.
	// +optional
	Ran bool `json:"ran,omitempty"`

	// Whether the member was added to a cluster that ran already.
	// +optional
	Joined bool `json:"joined,omitempty"`
}

// EtcdDurableLog is how far the log of a member is on its disk for certain.
type EtcdDurableLog struct {
	// Member that has the log.
	Name string `json:"name"`

	// Data directory that has the log.
	DataID string `json:"dataID"`

	// Position in the log of an entry that is on the disk for certain.
	Index int64 `json:"index"`

	// Raft term of that entry, or an earlier one; 0 if none is known.
	// +optional
	Term int64 `json:"term,omitempty"`
}

// EtcdMembershipChange is one change of the members.
type EtcdMembershipChange struct {
	// What happens to the member: Add, Remove or Recover.
	Type EtcdChangeType `json:"type"`

	// Member that is added, removed or recovered.
	Name string `json:"name"`

	// Number of the member that is removed, in hexadecimal.
	// +optional
	ID string `json:"id,omitempty"`

	// Data directory of the member that is added.
	// +optional
	DataID string `json:"dataID,omitempty"`

	// Unique name of the recovery. The member makes itself a cluster of one just once for it, however often it
	// restarts.
	// +optional
	Recovery string `json:"recovery,omitempty"`
}

// EtcdLogin is the record of who may log in.
type EtcdLogin struct {
	// Whether etcd serves only clients that have logged in, and lets only the operator's users do everything.
	// +optional
	Required bool `json:"required,omitempty"`

	// Applications' user that the Secret <name>-binding was last seen to have.
	// +optional
	User string `json:"user,omitempty"`

	// Applications' user that may still log in until status.login.formerUntil.
	// +optional
	FormerUser string `json:"formerUser,omitempty"`

	// When the former user may no longer log in: 5 minutes after the Secret was seen to have another one.
	// +optional
	FormerUntil *metav1.Time `json:"formerUntil,omitempty"`
}

// EtcdRecovery reports the last recovery from the loss of a majority.
type EtcdRecovery struct {
	// When the recovery was started.
	Time metav1.Time `json:"time"`
	// Name of the member whose data the cluster continued with.
	Member string `json:"member"`
	// Last revision of that data. Writes after it are lost.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Members that were given up. What their volumes hold is kept next to the data of the members that are made on
	// them, in the directories that status.membership.keptDataIDs names.
	// +listType=atomic
	Lost []string `json:"lost"`
}

// EtcdChangeType is what a change does.
// +kubebuilder:validation:Enum=Add;Remove;Recover
type EtcdChangeType string

const (
	// EtcdAdd adds a member, as a learner.
	EtcdAdd EtcdChangeType = "Add"
	// EtcdRemove removes a member.
	EtcdRemove EtcdChangeType = "Remove"
	// EtcdRecover starts a cluster of one with the data of that member, because a majority has lost theirs.
	EtcdRecover EtcdChangeType = "Recover"
)

// EtcdMemberRole is what a member is to the others.
// +kubebuilder:validation:Enum=Leader;Voter;Learner
type EtcdMemberRole string

const (
	// EtcdLeader leads the voters.
	EtcdLeader EtcdMemberRole = "Leader"
	// EtcdVoter counts for the majority.
	EtcdVoter EtcdMemberRole = "Voter"
	// EtcdLearner catches up and does not count for the majority yet.
	EtcdLearner EtcdMemberRole = "Learner"
)

// EtcdMember is one member as last seen.
type EtcdMember struct {
	// What the member and its pod are called.
	Name string `json:"name"`
	// Number of the member in hexadecimal, as etcd reports it.
	// +optional
	ID string `json:"id,omitempty"`
	// What the member is: Leader, Voter or Learner; empty while it does not answer.
	// +optional
	Role EtcdMemberRole `json:"role,omitempty"`
	// Software version of the server.
	// +optional
	Version string `json:"version,omitempty"`
	// Whether the member answers and knows the leader.
	Healthy bool `json:"healthy"`
	// Problems that the member has raised: NOSPACE or CORRUPT.
	// +optional
	// +listType=set
	Alarms []string `json:"alarms,omitempty"`
}

// EtcdClusterStatus says what was observed.
type EtcdClusterStatus struct {
	// The metadata.generation that this status describes. While it is lower than the object's, the status is out of
	// date.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Number of pods that exist.
	// +optional
	Replicas int32 `json:"replicas"`

	// Number of voters that answer, know the leader, and are reached by the Service.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Healthy Voters"
	ReadyReplicas int32 `json:"readyReplicas"`

	// Labels of the pods, by which an autoscaler finds them.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Member that leads the cluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Leader string `json:"leader,omitempty"`

	// Software version that all members run; empty while they differ.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Version string `json:"version,omitempty"`

	// Minor version whose features all members use by agreement.
	// +optional
	ClusterVersion string `json:"clusterVersion,omitempty"`

	// Exact version that the pods are made with; during an upgrade over several minor versions, that of the step under
	// way.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// Container image that the pods are made with. It is set together with status.targetVersion.
	// +optional
	TargetImage string `json:"targetImage,omitempty"`

	// Host and port for clients within the cluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// Which Secret a client needs to connect.
	// +optional
	Binding *EtcdBinding `json:"binding,omitempty"`

	// Voters and learners as last seen, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Members []EtcdMember `json:"members,omitempty"`

	// The last revision that was compacted because the quota is exceeded; 0 once it is no longer.
	// +optional
	CompactedRevision int64 `json:"compactedRevision,omitempty"`

	// How the cluster last recovered from the loss of a majority.
	// +optional
	LastRecovery *EtcdRecovery `json:"lastRecovery,omitempty"`

	// Which backup the data came from.
	// +optional
	LastRestore *EtcdLastRestore `json:"lastRestore,omitempty"`

	// Which users of applications may log in; only with spec.auth.
	// +optional
	Login *EtcdLogin `json:"login,omitempty"`

	// Progress of the EtcdRestore that is to start next.
	// +optional
	NextRestore *EtcdNextRestore `json:"nextRestore,omitempty"`

	// UIDs of the EtcdRestores that were started, the last 32. None starts twice.
	// +optional
	// +listType=atomic
	BegunRestoreUIDs []types.UID `json:"begunRestoreUIDs,omitempty"`

	// Record of the members, which decides whose pods may start.
	// +optional
	Membership *EtcdMembership `json:"membership,omitempty"`

	// How much of each member's log is on its disk for certain, sorted by name. A member whose log ends before that
	// does not start: its disk was put back to an earlier state. Updated at most every ten minutes, and when a member
	// no longer answers.
	// +optional
	// +listType=map
	// +listMapKey=name
	DurableLogs []EtcdDurableLog `json:"durableLogs,omitempty"`

	// State of the object, with reasons: Ready, Available, Progressing, Degraded; Paused, UpdateAvailable and
	// StorageResizing once they have something to say; with spec.tls CertificatesInSync, with spec.auth
	// CredentialsInSync.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
