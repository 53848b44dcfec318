package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// The first rule has the sum by which the operator computes a limit where there is none.
// The rules on maxItemSize are those by which memcached exits at its start (memcached.c:
// item_size_max and slab_chunk_size_max); the nodes' options do not reach the proxy, so no
// slab_chunk_max of theirs makes other sizes fit. Sums are rounded floats, since 1.5Gi is no
// integer to asInteger.

// MemcachedSpec says which cache is wanted.
//
// +kubebuilder:validation:XValidation:rule="built: memcached.limit"
// +kubebuilder:validation:XValidation:rule="...",message="resources.limits.memory must be at least memory and a sixth of it, plus 64Mi,"
// +kubebuilder:validation:XValidation:rule="...",message="plus 32Ki for each of connections, or the kernel kills the cache"
// +kubebuilder:validation:XValidation:rule="...",message="when it fills up; raise it, or leave it out to have it computed"
// +kubebuilder:validation:XValidation:rule="built: memcached.maxItemSize"
// +kubebuilder:validation:XValidation:rule="...",message="maxItemSize must be at most half of memory, or memcached does not start;"
// +kubebuilder:validation:XValidation:rule="...",message="raise memory or lower maxItemSize"
// +kubebuilder:validation:XValidation:rule="!has(self.maxItemSize) || !has(self.options)"
// +kubebuilder:validation:XValidation:rule="... || string(self.maxItemSize).matches('[eE].{4}|.{33}')"
// +kubebuilder:validation:XValidation:rule="... || quantity(string(self.maxItemSize)).compareTo(quantity('1Mi')) >= 0"
// +kubebuilder:validation:XValidation:rule="... || !self.options.exists(o, o.startsWith('no_modern'))"
// +kubebuilder:validation:XValidation:rule="...",message="maxItemSize must be at least 1Mi with no_modern in options,"
// +kubebuilder:validation:XValidation:rule="...",message="or memcached does not start; raise it or take no_modern out"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || self.tls.mode != 'Optional'"
// +kubebuilder:validation:XValidation:rule="... || self.tls.plaintextPort != (has(self.port) ? self.port : 11211)"
// +kubebuilder:validation:XValidation:rule="...",message="tls.plaintextPort must not be port, which speaks TLS"
// +kubebuilder:validation:XValidation:rule="!has(self.proxy) || !self.proxy.enabled || !has(self.tls) && !has(self.auth)"
// +kubebuilder:validation:XValidation:rule="...",message="proxy.enabled: memcached's proxy can neither verify the nodes' certificates"
// +kubebuilder:validation:XValidation:rule="...",message="nor log in to them;"
// +kubebuilder:validation:XValidation:rule="...",message="leave tls and auth out, or let the clients know all nodes by status.servers"
// +kubebuilder:validation:XValidation:rule="!has(self.metrics) || !self.metrics.enabled || !has(self.auth)"
// +kubebuilder:validation:XValidation:rule="...",message="metrics.enabled: the exporter cannot log in to nodes with auth;"
// +kubebuilder:validation:XValidation:rule="...",message="leave one of them out"
// +kubebuilder:validation:XValidation:rule="!has(self.metrics) || !self.metrics.enabled"
// +kubebuilder:validation:XValidation:rule="... || (!has(self.port) || self.port != 9150)"
// +kubebuilder:validation:XValidation:rule="... && (!has(self.tls) || self.tls.mode != 'Optional' || self.tls.plaintextPort != 9150)"
// +kubebuilder:validation:XValidation:rule="...",message="metrics.enabled:"
// +kubebuilder:validation:XValidation:rule="...",message="port and tls.plaintextPort must not be 9150, which is the exporter's"
type MemcachedSpec struct {
	// Number of cache nodes, from 0 to 256. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// Container image of memcached. Default: the operator's choice, made once and then kept.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Image string `json:"image,omitempty"`

	// Room for items on each node (memcached -m), at least 8Mi. The pod needs more than that: see spec.resources.
	// Default: 64Mi.
	// +optional
	// +kubebuilder:default="64Mi"
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE].{4}|.{33}')"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).compareTo(quantity('8Mi')) >= 0"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).compareTo(quantity('1Ti')) <= 0"
	// +kubebuilder:validation:XValidation:rule="...",message="memory is a quantity from 8Mi to 1Ti"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memory for Items"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Memory *resource.Quantity `json:"memory,omitempty"`

	// Largest item that a node stores (memcached -I): a multiple of 512Ki, up to 512Mi and to half of spec.memory.
	// Default: 1Mi.
	// +optional
	// +kubebuilder:default="1Mi"
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE].{4}|.{33}')"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).compareTo(quantity('512Ki')) >= 0"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).compareTo(quantity('512Mi')) <= 0"
	// +kubebuilder:validation:XValidation:rule="...",message="maxItemSize is a quantity from 512Ki to 512Mi"
	// +kubebuilder:validation:XValidation:rule="string(self).matches('[eE].{4}|.{33}')"
	// +kubebuilder:validation:XValidation:rule="... || quantity(string(self)).compareTo(quantity('512Mi')) > 0"
	// +kubebuilder:validation:XValidation:rule="... || int(quantity(string(self)).asApproximateFloat() + 0.5) % 524288 == 0"
	// +kubebuilder:validation:XValidation:rule="...",message="maxItemSize must be a multiple of 512Ki (as 512Ki, 1Mi or 1536Ki),"
	// +kubebuilder:validation:XValidation:rule="...",message="or memcached does not start"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Largest Item"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	MaxItemSize *resource.Quantity `json:"maxItemSize,omitempty"`

	// How many clients a node accepts at once (memcached -c), from 16 to 100000. Default: 1024.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=100000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Connections per Node"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Connections int32 `json:"connections,omitempty"`

	// Number of threads that serve clients (memcached -t), from 1 to 64. Default: 4.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Threads int32 `json:"threads,omitempty"`

	// Number of the port that memcached listens on and that both Services offer, from 1024 to 65535. Default: 11211.
	// +optional
	// +kubebuilder:default=11211
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// How much is logged: 0 nothing, 1 errors, 2 commands, 3 internals. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:0"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:1"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:2"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:3"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Verbosity int32 `json:"verbosity,omitempty"`

	// Extended options (memcached -o), each a name such as no_lru_crawler, or name=value. Those of TLS and of the
	// proxy are refused; slab_chunk_max must be a power of two up to 512. At most 32.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-z0-9_]*(=[A-Za-z0-9_.:/%-]+)?$`
	// +kubebuilder:validation:XValidation:rule="self.all(o, !o.startsWith('ssl_') && !o.startsWith('proxy_'))"
	// +kubebuilder:validation:XValidation:rule="...",message="options must not start with ssl_ or proxy_"
	// +kubebuilder:validation:XValidation:rule="self.all(o, !o.startsWith('slab_chunk_max')"
	// +kubebuilder:validation:XValidation:rule="... || o.matches('^slab_chunk_max=(1|2|4|8|16|32|64|128|256|512)$'))"
	// +kubebuilder:validation:XValidation:rule="...",message="options: slab_chunk_max must be a power of two from 1 to 512 (KiB),"
	// +kubebuilder:validation:XValidation:rule="...",message="or memcached does not start"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Extended Options"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Options []string `json:"options,omitempty"`

	// CPU and memory of each node, as requests and limits. Default: a request of 10m CPU; limits of one CPU more than
	// spec.threads, and of spec.memory, a sixth of it, 64Mi, and 32Ki for each of spec.connections.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// Encryption of the connections to the nodes. Default: none, data is sent unencrypted.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS"
	TLS *MemcachedTLS `json:"tls,omitempty"`

	// Users who may log in, by the ASCII protocol (memcached -Y). Default: none, any client that reaches a node may
	// use it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authentication"
	Auth *MemcachedAuth `json:"auth,omitempty"`

	// Pace at which nodes are replaced, each of which starts empty.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Rollout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Rollout *MemcachedRollout `json:"rollout,omitempty"`

	// One address for clients that cannot spread their keys over the nodes themselves. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy"
	Proxy *MemcachedProxy `json:"proxy,omitempty"`

	// Exporter of each node's metrics, for Prometheus. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Metrics *MemcachedMetrics `json:"metrics,omitempty"`

	// Who may connect to the pods, where the cluster's network enforces it. The proxy may in any case, and with
	// spec.tls the operator. Default: every client that can reach them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network Policy"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *commonv1.NetworkPolicy `json:"networkPolicy,omitempty"`

	// How many pods may be evicted at once, as by a drain. It counts from size 2 on. Default: 1.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Disruption Budget"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Disruption *commonv1.Disruption `json:"disruption,omitempty"`

	// Stops every change by the operator, repairs included. Deletion and status continue. Default: false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Paused bool `json:"paused,omitempty"`

	commonv1.PodOptions `json:",inline"`
}

// MemcachedRollout is how fast one node after the other is replaced.
type MemcachedRollout struct {
	// Seconds that a new node serves, and fills up, before the next one is replaced; from 0 to 86400. The condition
	// Ready does not wait for them. Default: 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Seconds between Nodes"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
}

// The name is bounded so that "<name>-headless" is a valid Service name and a
// pod's controller-revision label fits.

// Memcached is a cache of size nodes with stable names and one endpoint.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=memcacheds,shortName=mc,categories=mainstay
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 48 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
// +kubebuilder:validation:XValidation:rule="...",message="metadata.name becomes the name of Services: at most 48 characters,"
// +kubebuilder:validation:XValidation:rule="...",message="lower case letters, digits and '-', starting with a letter"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.auth) || self.spec.auth.secretName != self.metadata.name + '-auth'"
// +kubebuilder:validation:XValidation:rule="...",message="auth.secretName: <name>-auth is the Secret that the operator writes;"
// +kubebuilder:validation:XValidation:rule="...",message="give yours another name"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.tls) || self.spec.tls.secretName != self.metadata.name + '-certificates'"
// +kubebuilder:validation:XValidation:rule="...",message="tls.secretName: <name>-certificates is the Secret that the operator writes;"
// +kubebuilder:validation:XValidation:rule="...",message="give yours another name"
// +operator-sdk:csv:customresourcedefinitions:displayName="Memcached"
// +operator-sdk:csv:customresourcedefinitions:resources={{ConfigMap,v1},{Deployment,v1},{Event,v1},{NetworkPolicy,v1}}
// +operator-sdk:csv:customresourcedefinitions:resources={{PodDisruptionBudget,v1},{Secret,v1},{Service,v1},{StatefulSet,v1}}
type Memcached struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state, which users write.
	// +optional
	// +kubebuilder:default={}
	Spec MemcachedSpec `json:"spec,omitempty"`
	// Observed state, which only the operator writes.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status MemcachedStatus `json:"status,omitempty"`

	commonv1.Reading `json:"-"`
}

// UnmarshalJSON reads what can be read: no object hides the others of its list.
func (m *Memcached) UnmarshalJSON(data []byte) error {
	type plain Memcached // has not this method
	read, unreadable, err := commonv1.Read[plain](data)
	*m = Memcached(read)
	m.Unreadable = unreadable
	return err
}

// GetConditions gives the place where the conditions live.
func (m *Memcached) GetConditions() *[]metav1.Condition { return &m.Status.Conditions }

// GetObservedGeneration returns the generation that the status describes; -1 or 0 before the first pass.
func (m *Memcached) GetObservedGeneration() int64 { return m.Status.ObservedGeneration }

// SetObservedGeneration notes the generation that the status speaks of.
func (m *Memcached) SetObservedGeneration(generation int64) { m.Status.ObservedGeneration = generation }

// MemcachedList is a list of Memcached.
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Memcached `json:"items"`
}

func init() { register(&Memcached{}, &MemcachedList{}) }
