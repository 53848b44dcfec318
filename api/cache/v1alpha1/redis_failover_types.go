package v1alpha1

// RedisDurability says when a write counts as safe.
type RedisDurability struct {
	// How many replicas must follow closely for the master to accept writes, from 0 to 8. A write that WAIT confirms
	// for that many survives the loss of the master. With 0 the master writes alone. Default: 1 from size 2 on, else
	// 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas That Confirm a Write"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MinReplicasToWrite *int32 `json:"minReplicasToWrite,omitempty"`

	// Seconds without an acknowledgement after which a replica no longer follows closely, from 2 to 60. A failover
	// waits this long, and a second more, for a master that cannot be asked. Default: 3.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=60
	MaxLagSeconds *int32 `json:"maxLagSeconds,omitempty"`

	// What happens to writes when replicas are lost for good: with Preferred the master continues with those that are
	// left, with Required writes wait. Default: Preferred.
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
	// Milliseconds between two checks of each server, from 200 to 60000. Default: 1000.
	// +optional
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=60000
	ProbeIntervalMillis *int32 `json:"probeIntervalMillis,omitempty"`

	// How many checks in a row a master may leave unanswered before it counts as lost, from 1 to 20. It is never lost
	// sooner than a script may block it: 7 seconds, unless spec.config changes that. A server that has provably ended
	// is replaced at once. Default: 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// RedisUpdate says how pods are replaced.
type RedisUpdate struct {
	// How the master's pod is replaced: Unsupervised first makes a replica master; Supervised leaves the pod until you
	// set the annotation mainstay-operator.io/switchover. Default: Unsupervised.
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
