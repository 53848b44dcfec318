package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// RedisAllowUnsafePromotion is an annotation: set to the epoch that the status shows, it
// lets a replica become master although confirmed writes may be lost by it.
const RedisAllowUnsafePromotion = "mainstay-operator.io/allow-unsafe-promotion"

// RedisSwitchover is an annotation: the name of the pod that shall be master. It is
// taken off once that pod is master, or when it never can be.
const RedisSwitchover = "mainstay-operator.io/switchover"

// RedisRotatePasswords is an annotation: each value that it did not have before, such as the time, makes the operator
// replace its own passwords, those of the replicas and that of the backups. The applications' password stays.
const RedisRotatePasswords = "mainstay-operator.io/rotate-passwords"

// RedisDefaultSize is the number of nodes of a Redis without spec.size.
const RedisDefaultSize = 3

// RedisSpec says which Redis is wanted: one master and size-1 replicas.
//
// +kubebuilder:validation:XValidation:rule="!has(self.durability) || !has(self.durability.minReplicasToWrite)"
// +kubebuilder:validation:XValidation:rule="... || self.durability.minReplicasToWrite < self.size"
// +kubebuilder:validation:XValidation:rule="...",message="durability.minReplicasToWrite must be smaller than size:"
// +kubebuilder:validation:XValidation:rule="...",message="the master does not count"
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage)"
// +kubebuilder:validation:XValidation:rule="...",message="storage cannot be added or dropped later; make a new Redis and move the data"
// +kubebuilder:validation:XValidation:rule="has(self.tls) == has(oldSelf.tls)"
// +kubebuilder:validation:XValidation:rule="...",message="tls cannot be added or dropped later; make a new Redis and move the data"
// +kubebuilder:validation:XValidation:rule="!has(self.maxMemoryPercent)"
// +kubebuilder:validation:XValidation:rule="... || (has(self.resources)"
// +kubebuilder:validation:XValidation:rule="... && has(self.resources.limits) && 'memory' in self.resources.limits)"
// +kubebuilder:validation:XValidation:rule="...",message="maxMemoryPercent needs resources.limits.memory"
// +kubebuilder:validation:XValidation:rule="!has(self.maxMemoryPercent) || !has(self.config) || !('maxmemory' in self.config)"
// +kubebuilder:validation:XValidation:rule="...",message="maxMemoryPercent and config.maxmemory say the same thing; set one of them"
// +kubebuilder:validation:XValidation:rule="has(self.storage)"
// +kubebuilder:validation:XValidation:rule="... || (!has(self.persistence)"
// +kubebuilder:validation:XValidation:rule="... || !has(self.persistence.mode) || self.persistence.mode == 'None')"
// +kubebuilder:validation:XValidation:rule="...",message="persistence.mode needs storage: without it a pod's data goes with the pod"
// +kubebuilder:validation:XValidation:rule="!has(self.flavor) || self.flavor != 'Valkey' || !has(self.config)"
// +kubebuilder:validation:XValidation:rule="... || !('dynamic-hz' in self.config)"
// +kubebuilder:validation:XValidation:rule="...",message="config:"
// +kubebuilder:validation:XValidation:rule="...",message="dynamic-hz is not supported with flavor Valkey, which has no such directive"
// +kubebuilder:validation:XValidation:rule="!has(self.hibernate) || !self.hibernate"
// +kubebuilder:validation:XValidation:rule="... || (has(self.storage)"
// +kubebuilder:validation:XValidation:rule="... && (!has(self.persistence)"
// +kubebuilder:validation:XValidation:rule="... || !has(self.persistence.mode) || self.persistence.mode != 'None'))"
// +kubebuilder:validation:XValidation:rule="...",message="hibernate needs storage and a persistence.mode other than None:"
// +kubebuilder:validation:XValidation:rule="...",message="the data must outlive the pods"
type RedisSpec struct {
	// Which server runs: Redis (7.2 or later) or Valkey (8.0 or later). It cannot be changed. Default: Redis.
	// +optional
	// +kubebuilder:default=Redis
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="flavor cannot change; make a new Redis and move the data"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Redis"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Valkey"}
	Flavor RedisFlavor `json:"flavor,omitempty"`

	// Number of nodes, the master included, from 1 to 9. Default: 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// Container image of the servers. It must fit spec.flavor. Default: the operator's choice, made once and then
	// kept.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Image string `json:"image,omitempty"`

	// Volume of each node. It cannot be added or dropped later. Default: none, a node's data is lost with its pod.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Storage *RedisStorage `json:"storage,omitempty"`

	// What a node writes to its volume. A change is made on the running servers; turning the append-only file on or
	// off then replaces the pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Persistence *RedisPersistence `json:"persistence,omitempty"`

	// When a write counts as safe, and what happens when replicas are lost.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Durability *RedisDurability `json:"durability,omitempty"`

	// When a silent master counts as lost.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Failure Detection"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Failover *RedisFailureDetection `json:"failover,omitempty"`

	// How pods are replaced when their template changes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Update *RedisUpdate `json:"update,omitempty"`

	// Password with which applications log in. Default: one is generated, in the Secret <name>-auth.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authentication"
	Auth *RedisAuth `json:"auth,omitempty"`

	// Encryption of the connections of applications, replicas and the operator. It cannot be added or dropped later.
	// Default: none, data is sent unencrypted.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS"
	TLS *RedisTLS `json:"tls,omitempty"`

	// Directives of redis.conf by their names in lower case, such as maxmemory-policy: allkeys-lru. Those of
	// replication, persistence, users and files are refused. They are set on running servers; databases, io-threads
	// and a removed one need new pods. At most 64.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="built: redis.config"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) > 0 && !self[k].matches('[[:cntrl:]]'))"
	// +kubebuilder:validation:XValidation:rule="...",message="config: a value must not be empty nor hold control characters such as a newline"
	// +kubebuilder:validation:XValidation:rule="!('databases' in self) || self['databases'].matches('^[1-9][0-9]{0,4}$')"
	// +kubebuilder:validation:XValidation:rule="...",message="config: databases is a number from 1 to 99999"
	// +kubebuilder:validation:XValidation:rule="!('io-threads' in self)"
	// +kubebuilder:validation:XValidation:rule="... || self['io-threads'].matches('^([1-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$')"
	// +kubebuilder:validation:XValidation:rule="...",message="config: io-threads is a number from 1 to 128"
	// +kubebuilder:validation:XValidation:rule="built: redis.bufferLimits"
	// +kubebuilder:validation:XValidation:rule="...",message="config: client-output-buffer-limit is"
	// +kubebuilder:validation:XValidation:rule="...",message="'<normal|pubsub> <hard> <soft> <seconds>', once or twice;"
	// +kubebuilder:validation:XValidation:rule="...",message="the replicas' buffer is the operator's"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Directives"
	Config map[string]RedisConfigValue `json:"config,omitempty"`

	// CPU and memory of each node, as requests and limits. Default: requests of 20m CPU and 32Mi memory, no limits.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// Percentage of spec.resources.limits.memory that is for data, from 10 to 95. The rest is for buffers and for the
	// copy that saving makes. Default: 75 if there is a limit.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=95
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memory for Data in Percent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MaxMemoryPercent *int32 `json:"maxMemoryPercent,omitempty"`

	// What a new Redis starts with. It is read only until there is a first master. Default: no data.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Bootstrap *RedisBootstrap `json:"bootstrap,omitempty"`

	// How applications reach the Services: <name> leads to the master, <name>-replicas to the replicas.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exposure"
	Service RedisService `json:"service,omitzero"`

	// Who may connect to the pods, where the cluster's network enforces it. The nodes and the operator may in any
	// case. Default: every client that can reach them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *commonv1.NetworkPolicy `json:"networkPolicy,omitempty"`

	// How many pods may be evicted at once, as by a drain. It counts from size 2 on. Default: 1.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Disruption Budget"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Disruption *commonv1.Disruption `json:"disruption,omitempty"`

	// Stops writes, then deletes all pods; Services, Secrets and volumes stay. False wakes the Redis with its data.
	// With spec.persistence.mode RDB a pod must be able to save within spec.terminationGracePeriodSeconds. Default:
	// false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Hibernate bool `json:"hibernate,omitempty"`

	// Stops every change by the operator, failovers included. Deletion and status continue. Default: false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Paused bool `json:"paused,omitempty"`

	commonv1.PodOptions `json:",inline"`
}

// RedisFlavor is whose server runs.
// +kubebuilder:validation:Enum=Redis;Valkey
type RedisFlavor string

const (
	// FlavorRedis runs redis-server, from Redis 7.2 on.
	FlavorRedis RedisFlavor = "Redis"
	// FlavorValkey runs valkey-server, from Valkey 8.0 on.
	FlavorValkey RedisFlavor = "Valkey"
)

// RedisConfigValue is the value of one directive.
// +kubebuilder:validation:MaxLength=256
type RedisConfigValue string

// The name is bounded so that "<name>-headless" is a valid Service name and a
// pod's controller-revision label fits.

// Redis is a master and its replicas that lose no confirmed write.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=redis,shortName=rd,categories=mainstay
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Master",type=string,JSONPath=`.status.master`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="built: redis.auth"
// +kubebuilder:validation:XValidation:rule="...",message="auth.secretName names a Secret that the operator writes itself;"
// +kubebuilder:validation:XValidation:rule="...",message="choose another name"
// +kubebuilder:validation:XValidation:rule="built: redis.tls"
// +kubebuilder:validation:XValidation:rule="...",message="tls.secretName names a Secret that the operator writes itself;"
// +kubebuilder:validation:XValidation:rule="...",message="choose another name"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 48 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
// +kubebuilder:validation:XValidation:rule="...",message="metadata.name becomes the name of Services: at most 48 characters,"
// +kubebuilder:validation:XValidation:rule="...",message="lower case letters, digits and '-', starting with a letter"
// +operator-sdk:csv:customresourcedefinitions:displayName="Redis"
// +operator-sdk:csv:customresourcedefinitions:resources={{EndpointSlice,v1},{Event,v1},{PersistentVolumeClaim,v1},{Pod,v1}}
// +operator-sdk:csv:customresourcedefinitions:resources={{PodDisruptionBudget,v1},{Secret,v1},{Service,v1},{StatefulSet,v1}}
type Redis struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state, which users write.
	// +optional
	// +kubebuilder:default={}
	Spec RedisSpec `json:"spec,omitempty"`
	// Observed state, which only the operator writes.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status RedisStatus `json:"status,omitempty"`

	commonv1.Reading `json:"-"`
}

// UnmarshalJSON reads what can be read: no object hides the others of its list.
func (r *Redis) UnmarshalJSON(data []byte) error {
	type plain Redis // has not this method
	read, unreadable, err := commonv1.Read[plain](data)
	*r = Redis(read)
	r.Unreadable = unreadable
	return err
}

// GetConditions gives the place where the conditions live.
func (r *Redis) GetConditions() *[]metav1.Condition { return &r.Status.Conditions }

// GetObservedGeneration returns the generation that the status describes; -1 or 0 before the first pass.
func (r *Redis) GetObservedGeneration() int64 { return r.Status.ObservedGeneration }

// SetObservedGeneration notes the generation that the status speaks of.
func (r *Redis) SetObservedGeneration(generation int64) { r.Status.ObservedGeneration = generation }

// RedisList is a list of Redis.
// +kubebuilder:object:root=true
type RedisList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Redis `json:"items"`
}

func init() { register(&Redis{}, &RedisList{}) }
