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
	// size is the number of cache nodes. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// image of memcached. Default: the operator's, resolved once and then kept.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Image string `json:"image,omitempty"`

	// memory for items on each node (memcached -m), from 8Mi on. Default 64Mi.
	// +optional
	// +kubebuilder:default="64Mi"
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE].{4}|.{33}')"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).compareTo(quantity('8Mi')) >= 0"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).compareTo(quantity('1Ti')) <= 0"
	// +kubebuilder:validation:XValidation:rule="...",message="memory is a quantity from 8Mi to 1Ti"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memory for Items"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Memory *resource.Quantity `json:"memory,omitempty"`

	// maxItemSize is the largest item (memcached -I): a multiple of 512Ki, up to 512Mi and
	// to half of memory. Default 1Mi.
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

	// connections that a node accepts at once (memcached -c). Default 1024.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=100000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Connections per Node"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Connections int32 `json:"connections,omitempty"`

	// threads that serve (memcached -t). Default 4.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Threads int32 `json:"threads,omitempty"`

	// port that memcached listens on and that both Services offer. Default 11211.
	// +optional
	// +kubebuilder:default=11211
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// verbosity of the log: 0 silent, 1 errors, 2 commands, 3 internals. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:0"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:1"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:2"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:3"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Verbosity int32 `json:"verbosity,omitempty"`

	// options are extended options (memcached -o), each "name" or "name=value".
	// TLS and the proxy have no place here, and slab_chunk_max only as a power of two up
	// to 512, which fits every maxItemSize.
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

	// resources of each node. Default: a memory limit of memory, a sixth of it (for the
	// hash table of the smallest items), 64Mi and 32Ki for each of connections; a CPU request of
	// 10m, and a CPU limit of one for each of threads and one more.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// tls of the connections to the nodes. Default: none, they are in the clear.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS"
	TLS *MemcachedTLS `json:"tls,omitempty"`

	// auth of applications, by the ASCII protocol (memcached -Y). Default: none,
	// any client that reaches a node may use it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authentication"
	Auth *MemcachedAuth `json:"auth,omitempty"`

	// rollout paces the replacement of nodes, each of which starts empty.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Rollout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Rollout *MemcachedRollout `json:"rollout,omitempty"`

	// proxy in front of the nodes: one endpoint for clients that cannot spread their
	// keys over the nodes themselves.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy"
	Proxy *MemcachedProxy `json:"proxy,omitempty"`

	// metrics of each node, by an exporter next to it. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Metrics *MemcachedMetrics `json:"metrics,omitempty"`

	// networkPolicy says who may connect. The proxy may, and with tls the operator,
	// whatever is chosen. Default: every client that can reach the pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network Policy"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *commonv1.NetworkPolicy `json:"networkPolicy,omitempty"`

	// disruption bounds what evictions may take at once; it counts from size 2 on.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Disruption Budget"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Disruption *commonv1.Disruption `json:"disruption,omitempty"`

	// paused holds every write of the operator back. Deletion and status continue.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Paused bool `json:"paused,omitempty"`

	commonv1.PodOptions `json:",inline"`
}

// MemcachedRollout is how fast one node after the other is replaced.
type MemcachedRollout struct {
	// minReadySeconds that a new node serves, and fills up, before the next one is
	// replaced. It does not count for the condition Ready. Default 30.
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

	// +optional
	// +kubebuilder:default={}
	Spec MemcachedSpec `json:"spec,omitempty"`
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
