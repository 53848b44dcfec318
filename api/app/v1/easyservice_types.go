package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// EasyServiceSpec says which service is wanted.
// +kubebuilder:validation:XValidation:rule="!has(self.strategy) || !has(self.strategy.drainSeconds) || self.strategy.drainSeconds == 0"
// +kubebuilder:validation:XValidation:rule="... || self.strategy.drainSeconds"
// +kubebuilder:validation:XValidation:rule="... < (has(self.terminationGracePeriodSeconds) ? self.terminationGracePeriodSeconds : 30)"
// +kubebuilder:validation:XValidation:rule="...",message="strategy.drainSeconds must be smaller than"
// +kubebuilder:validation:XValidation:rule="...",message="terminationGracePeriodSeconds (30 when unset)"
// +kubebuilder:validation:XValidation:rule="!has(self.ingress)"
// +kubebuilder:validation:XValidation:rule="... || (has(self.ports)"
// +kubebuilder:validation:XValidation:rule="... && self.ports.exists(p,"
// +kubebuilder:validation:XValidation:rule="... p.protocol == 'TCP' && (!has(self.ingress.port) || p.port == self.ingress.port)))"
// +kubebuilder:validation:XValidation:rule="...",message="ingress needs a TCP port, and ingress.port must be one of ports"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeMounts) || has(self.volumes)",message="volumeMounts needs volumes"
// +kubebuilder:validation:XValidation:rule="self.security != 'Restricted' || !has(self.volumes) || self.volumes.all(v, v.name != 'tmp')"
// +kubebuilder:validation:XValidation:rule="... || (has(self.volumeMounts) && self.volumeMounts.exists(m, m.mountPath == '/tmp'))"
// +kubebuilder:validation:XValidation:rule="...",message="volumes: with security Restricted the name tmp is the operator's,"
// +kubebuilder:validation:XValidation:rule="...",message="unless volumeMounts has one at /tmp"
// +kubebuilder:validation:XValidation:rule="self.service.type != 'ClusterIP' || !has(self.ports) || self.ports.all(p, !has(p.nodePort))"
// +kubebuilder:validation:XValidation:rule="...",message="ports: nodePort needs service.type NodePort or LoadBalancer"
// +kubebuilder:validation:XValidation:rule="built: easyservice.readiness"
// +kubebuilder:validation:XValidation:rule="...",message="probes.readiness must name what to ask, since there is no TCP port"
// +kubebuilder:validation:XValidation:rule="built: easyservice.liveness"
// +kubebuilder:validation:XValidation:rule="...",message="probes.liveness must name what to ask, since there is no TCP port"
// +kubebuilder:validation:XValidation:rule="built: easyservice.startup"
// +kubebuilder:validation:XValidation:rule="...",message="probes.startup must name what to ask, since there is no TCP port"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway)"
// +kubebuilder:validation:XValidation:rule="... || (has(self.ports)"
// +kubebuilder:validation:XValidation:rule="... && self.ports.exists(p,"
// +kubebuilder:validation:XValidation:rule="... p.protocol == 'TCP' && (!has(self.gateway.port) || p.port == self.gateway.port)))"
// +kubebuilder:validation:XValidation:rule="...",message="gateway needs a TCP port, and gateway.port must be one of ports"
// +kubebuilder:validation:XValidation:rule="!has(self.metrics)"
// +kubebuilder:validation:XValidation:rule="... || (has(self.ports) && self.ports.exists(p, has(p.name) && p.name == self.metrics.port))"
// +kubebuilder:validation:XValidation:rule="...",message="metrics.port must be the name of one of ports"
type EasyServiceSpec struct {
	// Number of pods, from 0 to 1000. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// Container image that the pods run, such as docker.io/library/nginx:1.26.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image"`

	// Program and arguments in place of the image's entrypoint. No shell reads them. Default: the image's.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(a, size(a) <= 131072)"
	// +kubebuilder:validation:XValidation:rule="...",message="command:"
	// +kubebuilder:validation:XValidation:rule="...",message="each has at most 131072 characters, as Linux passes no more to a program"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Command []string `json:"command,omitempty"`

	// Arguments in place of the image's. No shell reads them. Default: the image's.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(a, size(a) <= 131072)"
	// +kubebuilder:validation:XValidation:rule="...",message="args: each has at most 131072 characters, as Linux passes no more to a program"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Arguments"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Args []string `json:"args,omitempty"`

	// Absolute path of the directory that the command starts in. Default: the image's.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^/`
	WorkingDir string `json:"workingDir,omitempty"`

	// Environment variables of the container: each a name with a value, or with a source such as a key of a Secret. A
	// name may occur once. At most 256.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.name != '')",message="envs: every name has at least one character"
	// +kubebuilder:validation:XValidation:rule="self.all(e, !has(e.valueFrom) || !has(e.value) || e.value == '')"
	// +kubebuilder:validation:XValidation:rule="...",message="envs: give value or valueFrom, not both"
	// +kubebuilder:validation:XValidation:rule="self.all(e, size(e.name) <= 131072 && (!has(e.value) || size(e.value) <= 131072))"
	// +kubebuilder:validation:XValidation:rule="...",message="envs: a name or value has at most 131072 characters,"
	// +kubebuilder:validation:XValidation:rule="...",message="as Linux passes no more to a program"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Environment"
	Envs []corev1.EnvVar `json:"envs,omitempty"`

	// ConfigMaps and Secrets of the same namespace whose keys all become environment variables. Those of spec.envs
	// take precedence. At most 32.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(e, has(e.configMapRef) != has(e.secretRef))"
	// +kubebuilder:validation:XValidation:rule="...",message="envFrom: each gives either configMapRef or secretRef"
	// +kubebuilder:validation:XValidation:rule="self.all(e, (!has(e.prefix) || size(e.prefix) <= 131072)"
	// +kubebuilder:validation:XValidation:rule="... && (!has(e.configMapRef)"
	// +kubebuilder:validation:XValidation:rule="... || !has(e.configMapRef.name) || size(e.configMapRef.name) <= 253)"
	// +kubebuilder:validation:XValidation:rule="... && (!has(e.secretRef) || !has(e.secretRef.name) || size(e.secretRef.name) <= 253))"
	// +kubebuilder:validation:XValidation:rule="...",message="envFrom: a name has at most 253 characters, a prefix at most 131072"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Environment From"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// ConfigMaps and Secrets of the same namespace that replace the pods when their content changes. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Configuration"
	ConfigRefs []ConfigRef `json:"configRefs,omitempty"`

	// Storage that spec.volumeMounts can mount, such as a ConfigMap or a PersistentVolumeClaim. The Pod Security level
	// of the namespace decides which types are admitted. At most 32.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// Where the container sees the volumes of spec.volumes, one for each path. At most 64.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// ServiceAccount that the pods act as. Its token is then mounted, unless the ServiceAccount says otherwise.
	// Default: the namespace's default account, without a token.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service Account"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:ServiceAccount"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Numbers and names of the ports that the Service offers. Without any there is no Service. At most 32.
	// +optional
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.size() < 2 || self.all(p, has(p.name))"
	// +kubebuilder:validation:XValidation:rule="...",message="ports: each needs a name when there is more than one"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.name) || self.exists_one(q, has(q.name) && q.name == p.name))"
	// +kubebuilder:validation:XValidation:rule="...",message="ports: a name stands for one port only"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.targetPort) || type(p.targetPort) == int"
	// +kubebuilder:validation:XValidation:rule="... || !(p.targetPort in self.filter(q, has(q.targetPort)"
	// +kubebuilder:validation:XValidation:rule="... && (q.port != p.port || q.protocol != p.protocol)).map(q, q.targetPort)))"
	// +kubebuilder:validation:XValidation:rule="...",message="ports: a targetPort that is a name stands on one port only"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.nodePort)"
	// +kubebuilder:validation:XValidation:rule="... || self.exists_one(q,"
	// +kubebuilder:validation:XValidation:rule="... has(q.nodePort) && q.nodePort == p.nodePort && q.protocol == p.protocol))"
	// +kubebuilder:validation:XValidation:rule="...",message="ports: a nodePort stands for one port of a protocol only"
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Ports []Port `json:"ports,omitempty"`

	// How clients reach the ports: type, annotations and traffic policies of the Service.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exposure"
	Service Exposure `json:"service,omitzero"`

	// HTTP access through an ingress controller. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Ingress *Ingress `json:"ingress,omitempty"`

	// HTTP access through Gateway API, which the cluster must have. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Gateway Route"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Gateway *Route `json:"gateway,omitempty"`

	// Who may connect to the pods, where the cluster's network enforces it. Default: every client that can reach them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *commonv1.NetworkPolicy `json:"networkPolicy,omitempty"`

	// Where the pods serve metrics, and how Prometheus finds them. Default: no metrics.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Metrics *Metrics `json:"metrics,omitempty"`

	// Checks of whether the container has started, is ready, and still works. Default: ready when the first TCP port
	// accepts connections.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Probes *Probes `json:"probes,omitempty"`

	// CPU and memory of each pod, as requests and limits. Default: requests of 10m CPU and 16Mi memory, no limits.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// How pods are replaced when the spec changes: how many at once, how long each step takes at most, and what
	// happens if new pods do not start.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Rollout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Strategy *Strategy `json:"strategy,omitempty"`

	// Pod Security level of the pods. Baseline runs any image without letting it gain privileges. Restricted also
	// refuses root, drops all capabilities, and makes all but /tmp read-only; ports below 1024 still work. Default:
	// Baseline.
	// +optional
	// +kubebuilder:default=Baseline
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod Security"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Baseline"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Restricted"}
	Security commonv1.SecurityProfile `json:"security,omitempty"`

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

// The name is bounded so that it is a valid Service name and label.

// EasyService is an image that runs size times behind one Service.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=easyservices,shortName=esvc,categories=mainstay
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.endpoints[?(@.type!="ClusterIP")].url`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
// +kubebuilder:validation:XValidation:rule="...",message="metadata.name becomes the name of a Service: at most 63 characters,"
// +kubebuilder:validation:XValidation:rule="...",message="lower case letters, digits and '-', starting with a letter"
// +operator-sdk:csv:customresourcedefinitions:displayName="Easy Service"
// +operator-sdk:csv:customresourcedefinitions:resources={{Deployment,v1},{Event,v1},{HTTPRoute,v1},{Ingress,v1},{NetworkPolicy,v1}}
// +operator-sdk:csv:customresourcedefinitions:resources={{ReplicaSet,v1},{ServiceMonitor,v1},{PodDisruptionBudget,v1},{Service,v1}}
type EasyService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state, which users write.
	Spec EasyServiceSpec `json:"spec"`
	// Observed state, which only the operator writes.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status EasyServiceStatus `json:"status,omitempty"`

	commonv1.Reading `json:"-"`
}

// UnmarshalJSON reads what can be read: no object hides the others of its list.
func (e *EasyService) UnmarshalJSON(data []byte) error {
	type plain EasyService // has not this method
	read, unreadable, err := commonv1.Read[plain](data)
	*e = EasyService(read)
	e.Unreadable = unreadable
	return err
}

// GetConditions gives the place where the conditions live.
func (e *EasyService) GetConditions() *[]metav1.Condition { return &e.Status.Conditions }

// GetObservedGeneration returns the generation that the status describes; -1 or 0 before the first pass.
func (e *EasyService) GetObservedGeneration() int64 { return e.Status.ObservedGeneration }

// SetObservedGeneration notes the generation that the status speaks of.
func (e *EasyService) SetObservedGeneration(generation int64) {
	e.Status.ObservedGeneration = generation
}

// EasyServiceList is a list of EasyServices.
// +kubebuilder:object:root=true
type EasyServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EasyService `json:"items"`
}

func init() { register(&EasyService{}, &EasyServiceList{}) }
