package v1alpha1

// RedisDurability says when a write counts as safe.
type RedisDurability struct {
	// minReplicasToWrite is W: the master takes writes only while so many replicas
	// follow closely, and a write confirmed by WAIT of at least W survives the loss
	// of the master. 0 lets the master write alone. Default 1 from size 2 on, else 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas That Confirm a Write"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MinReplicasToWrite *int32 `json:"minReplicasToWrite,omitempty"`

	// maxLagSeconds without an acknowledgement, and a replica no longer counts for
	// minReplicasToWrite. So long, and a second more, a failover waits for a master that
	// cannot be asked. Default 3.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=60
	MaxLagSeconds *int32 `json:"maxLagSeconds,omitempty"`

	// policy when replicas are lost for good. Default Preferred.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Durability Policy"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Preferred"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Required"}
	Policy RedisDurabilityPolicy `json:"policy,omitempty"`
}

// RedisDurabilityPolicy says what becomes of writes while too few replicas exist.
// +kubebuilder:validation:Enum=Preferred;Required
type RedisDurabilityPolicy string

const (
	// RedisDurabilityPreferred : the master writes on with those replicas that are left.
	RedisDurabilityPreferred RedisDurabilityPolicy = "Preferred"
	// RedisDurabilityRequired : writes wait until enough replicas are back.
	RedisDurabilityRequired RedisDurabilityPolicy = "Required"
)

// RedisFailureDetection says when silence counts.
type RedisFailureDetection struct {
	// probeIntervalMillis between two questions to each server, in milliseconds. Default 1000.
	// +optional
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=60000
	ProbeIntervalMillis *int32 `json:"probeIntervalMillis,omitempty"`

	// failureThreshold, multiplied by probeIntervalMillis, is how long a master may leave all questions
	// unanswered before it counts as lost. Default 3. The time is never shorter than a script may block the server:
	// config.busy-reply-threshold (5000 ms by default, a minute at most), one probe interval and one second.
	// The operator does not wait for a server whose end is proven.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// RedisUpdate says how pods are replaced.
type RedisUpdate struct {
	// strategy: Unsupervised replaces the replicas, hands the master over and replaces
	// it; Supervised leaves the master's pod to a human, who sets the annotation
	// mainstay-operator.io/switchover. Default Unsupervised.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Update Strategy"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Unsupervised"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Supervised"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Strategy RedisUpdateStrategy `json:"strategy,omitempty"`
}

// RedisUpdateStrategy says who moves the master.
// +kubebuilder:validation:Enum=Unsupervised;Supervised
type RedisUpdateStrategy string

const (
	// RedisUnsupervised : the operator hands the master over.
	RedisUnsupervised RedisUpdateStrategy = "Unsupervised"
	// RedisSupervised : a human says when.
	RedisSupervised RedisUpdateStrategy = "Supervised"
)
