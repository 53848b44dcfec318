package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// EtcdMembership is the record of who is a member. It is saved before each change that it speaks of, so that the next
// operator continues where the last one stopped.
type EtcdMembership struct {
	// token that keeps the members apart from those of every other cluster, when they meet for the first time.
	Token string `json:"token"`

	// clusterID of the cluster, in hexadecimal, as etcd reports it; empty until the members have met.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// revision of the record: it rises with each save. The PersistentVolumeClaims of the members are stamped with the record and
	// its revision, so that the record outlives this object.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// initialVersion is the version that the cluster was formed with.
	// +optional
	InitialVersion string `json:"initialVersion,omitempty"`

	// readableFrom is an index of raft's log. Once every member has applied it, no log holds an entry any more that only
	// etcd 3.5 and 3.6 can read. It is set before a cluster that was formed with 3.5 goes to 3.7.
	// +optional
	ReadableFrom int64 `json:"readableFrom,omitempty"`

	// members that are recorded, sorted by name.
	// +listType=map
	// +listMapKey=name
	Members []EtcdRecordedMember `json:"members"`

	// formerDataIDs are data directories of members that were removed: a new member drops them from its volume. The
	// last 32 are kept.
	// +optional
	// +listType=atomic
	FormerDataIDs []string `json:"formerDataIDs,omitempty"`

	// keptDataIDs are data directories of members that were given up, in a recovery or when the cluster was formed again: they stay
	// on their volumes, next to those of later members. The last 32 are kept.
	// +optional
	// +listType=atomic
	KeptDataIDs []string `json:"keptDataIDs,omitempty"`

	// namesAllData is true while this record names all data directories that members of this EtcdCluster have made. A volume with
	// the data of another cluster can be recognized only then.
	// +optional
	NamesAllData bool `json:"namesAllData,omitempty"`

	// restore is the backup that the first member starts with, until it was seen to run.
	// +optional
	Restore *EtcdMembershipRestore `json:"restore,omitempty"`

	// change of the members that is under way; there is at most one.
	// +optional
	Change *EtcdMembershipChange `json:"change,omitempty"`
}

// EtcdRecordedMember is a recorded member: its pod may start an etcd.
type EtcdRecordedMember struct {
	// name of the member and of its pod.
	Name string `json:"name"`

	// id of the member, in hexadecimal, as etcd reports it; empty until the members have met.
	// +optional
	ID string `json:"id,omitempty"`

	// dataID names the member's data directory. A member that lost its data is another one, with another directory.
	DataID string `json:"dataID"`

	// claimUID is the UID of the PersistentVolumeClaim that has its data. Another claim, such as one that was restored from a
	// snapshot, has not all that the member has confirmed.
	// +optional
	ClaimUID types.UID `json:"claimUID,omitempty"`

	// startedBy is the UID of the only pod that may start with an empty data directory; empty until a pod was permitted to. It is the UID
	// of no pod if the member's volume is reused from a deleted EtcdCluster.
	// +optional
	StartedBy types.UID `json:"startedBy,omitempty"`

	// ran is true once the member was seen to run: its data must be there from then on.
	// +optional
	Ran bool `json:"ran,omitempty"`

	// joined is true for a member that was added to a cluster which ran already.
	// +optional
	Joined bool `json:"joined,omitempty"`
}

// EtcdDurableLog is how far the log of a member is on its disk for certain.
type EtcdDurableLog struct {
	// name of the member.
	Name string `json:"name"`

	// dataID names the data directory that has the log.
	DataID string `json:"dataID"`

	// index of an entry that is on the disk.
	Index int64 `json:"index"`

	// term of that entry, or an earlier one; 0 if none is known.
	// +optional
	Term int64 `json:"term,omitempty"`
}

// EtcdMembershipChange is one change of the members.
type EtcdMembershipChange struct {
	// type of the change.
	Type EtcdChangeType `json:"type"`

	// name of the member.
	Name string `json:"name"`

	// id of the member that is removed, in hexadecimal.
	// +optional
	ID string `json:"id,omitempty"`

	// dataID of the member that is added.
	// +optional
	DataID string `json:"dataID,omitempty"`

	// recovery names the recovery. The member makes itself a cluster of one just once for it, however often it restarts.
	// +optional
	Recovery string `json:"recovery,omitempty"`
}

// EtcdLogin is the record of who may log in.
type EtcdLogin struct {
	// required is true once etcd serves no client that has not logged in, and none but the operator's users may do everything.
	// +optional
	Required bool `json:"required,omitempty"`

	// user of the applications that the Secret <name>-binding was last seen to have.
	// +optional
	User string `json:"user,omitempty"`

	// formerUser of the applications is let in until formerUntil.
	// +optional
	FormerUser string `json:"formerUser,omitempty"`

	// formerUntil is 5 minutes after the Secret was seen to have another user.
	// +optional
	FormerUntil *metav1.Time `json:"formerUntil,omitempty"`
}

// EtcdRecovery reports the last recovery from the loss of a majority.
type EtcdRecovery struct {
	// time when it was started.
	Time metav1.Time `json:"time"`
	// member whose data the cluster continued with.
	Member string `json:"member"`
	// revision of that data: writes after it are lost.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// lost are the members that were given up. What their volumes hold is kept next to the data of the members that are made
	// on them: it is in the directories that status.membership.keptDataIDs names.
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
	// name of the member and of its pod.
	Name string `json:"name"`
	// id of the member, in hexadecimal.
	// +optional
	ID string `json:"id,omitempty"`
	// role of the member; empty while it does not answer.
	// +optional
	Role EtcdMemberRole `json:"role,omitempty"`
	// version of the server.
	// +optional
	Version string `json:"version,omitempty"`
	// healthy is true while it answers and knows the leader.
	Healthy bool `json:"healthy"`
	// alarms that it has raised: NOSPACE, CORRUPT.
	// +optional
	// +listType=set
	Alarms []string `json:"alarms,omitempty"`
}

// EtcdClusterStatus says what was observed.
type EtcdClusterStatus struct {
	// observedGeneration is the generation of this object that the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas that exist.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas are the voters that answer, know the leader, and are reached by the Service.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Healthy Voters"
	ReadyReplicas int32 `json:"readyReplicas"`

	// selector of the pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// leader is the member that leads.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Leader string `json:"leader,omitempty"`

	// version that all members run; empty while they differ.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Version string `json:"version,omitempty"`

	// clusterVersion is the minor version whose features all members use by agreement.
	// +optional
	ClusterVersion string `json:"clusterVersion,omitempty"`

	// targetVersion is the exact version that the pods are made with: during an upgrade over several minor versions, the
	// one of the minor version under way.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// targetImage is the image that the pods are made with. It is set together with targetVersion.
	// +optional
	TargetImage string `json:"targetImage,omitempty"`

	// endpoint for clients within the cluster, as host:port.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// binding names the Secret that a client needs.
	// +optional
	Binding *EtcdBinding `json:"binding,omitempty"`

	// members as last seen, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Members []EtcdMember `json:"members,omitempty"`

	// compactedRevision is the last revision that was compacted because the quota is exceeded; 0 once it is no longer.
	// +optional
	CompactedRevision int64 `json:"compactedRevision,omitempty"`

	// lastRecovery reports the last recovery from the loss of a majority.
	// +optional
	LastRecovery *EtcdRecovery `json:"lastRecovery,omitempty"`

	// lastRestore reports the backup that the data came from.
	// +optional
	LastRestore *EtcdLastRestore `json:"lastRestore,omitempty"`

	// login is the record of who may log in, with auth.
	// +optional
	Login *EtcdLogin `json:"login,omitempty"`

	// nextRestore says how far the EtcdRestore is that is to start next.
	// +optional
	NextRestore *EtcdNextRestore `json:"nextRestore,omitempty"`

	// begunRestoreUIDs are the UIDs of the EtcdRestores that were started: none starts twice. The last 32 are kept.
	// +optional
	// +listType=atomic
	BegunRestoreUIDs []types.UID `json:"begunRestoreUIDs,omitempty"`

	// membership is the record of who is a member.
	// +optional
	Membership *EtcdMembership `json:"membership,omitempty"`

	// durableLogs say how far the logs of the members are on their disks for certain, sorted by name. A member whose log ends before that
	// does not start: its disk was put back to an earlier state. They are updated at most every ten minutes, and when a member no longer
	// answers.
	// +optional
	// +listType=map
	// +listMapKey=name
	DurableLogs []EtcdDurableLog `json:"durableLogs,omitempty"`

	// conditions of the object: Ready, Available, Progressing and Degraded; Paused, UpdateAvailable and StorageResizing once
	// they have something to say; CertificatesInSync with tls; CredentialsInSync with auth. docs/conditions.md explains every reason.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
