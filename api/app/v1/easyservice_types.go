package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// EasyServiceSpec says which service is wanted.
// +kubebuilder:validation:XValidation:rule="self.service.type != 'ClusterIP' || !has(self.ports) || self.ports.all(p, !has(p.nodePort))",message="ports: nodePort needs service.type NodePort or LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.probes) || !has(self.probes.readiness) || has(self.probes.readiness.exec) || has(self.probes.readiness.httpGet) || has(self.probes.readiness.tcpSocket) || has(self.probes.readiness.grpc) || (has(self.ports) && self.ports.exists(p, p.protocol == 'TCP'))",message="probes.readiness must name what to ask, since there is no TCP port"
// +kubebuilder:validation:XValidation:rule="!has(self.probes) || !has(self.probes.liveness) || has(self.probes.liveness.exec) || has(self.probes.liveness.httpGet) || has(self.probes.liveness.tcpSocket) || has(self.probes.liveness.grpc) || (has(self.ports) && self.ports.exists(p, p.protocol == 'TCP'))",message="probes.liveness must name what to ask, since there is no TCP port"
// +kubebuilder:validation:XValidation:rule="!has(self.probes) || !has(self.probes.startup) || has(self.probes.startup.exec) || has(self.probes.startup.httpGet) || has(self.probes.startup.tcpSocket) || has(self.probes.startup.grpc) || (has(self.ports) && self.ports.exists(p, p.protocol == 'TCP'))",message="probes.startup must name what to ask, since there is no TCP port"
type EasyServiceSpec struct {
	// size is the number of pods. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Size *int32 `json:"size,omitempty"`

	// image that the pods run, with a registry, port, tag or digest as needed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	Image string `json:"image"`

	// command in place of the image's entrypoint. It is not run by a shell.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Command []string `json:"command,omitempty"`

	// args in place of the image's arguments.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Args []string `json:"args,omitempty"`

	// workingDir of the command, absolute. Default: the image's.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^/`
	WorkingDir string `json:"workingDir,omitempty"`

	// envs of the container, each name once.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.name != '')",message="envs: every name has at least one character"
	// +kubebuilder:validation:XValidation:rule="self.all(e, !has(e.valueFrom) || !has(e.value) || e.value == '')",message="envs: give value or valueFrom, not both"
	Envs []corev1.EnvVar `json:"envs,omitempty"`

	// ports that the Service offers. Without ports there is no Service.
	// +optional
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.size() < 2 || self.all(p, has(p.name))",message="ports: each needs a name when there is more than one"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.name) || self.exists_one(q, has(q.name) && q.name == p.name))",message="ports: a name stands for one port only"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.targetPort) || type(p.targetPort) == int || self.exists_one(q, has(q.targetPort) && q.targetPort == p.targetPort))",message="ports: a targetPort that is a name stands on one port only"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.nodePort) || self.exists_one(q, has(q.nodePort) && q.nodePort == p.nodePort && q.protocol == p.protocol))",message="ports: a nodePort stands for one port of a protocol only"
	Ports []Port `json:"ports,omitempty"`

	// service says how the ports are offered.
	// +optional
	// +kubebuilder:default={}
	Service Exposure `json:"service,omitzero"`

	// probes of the container. Default: ready when the first TCP port accepts connections.
	// +optional
	Probes *Probes `json:"probes,omitempty"`

	// resources of each pod.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// strategy of a rollout.
	// +optional
	Strategy *Strategy `json:"strategy,omitempty"`

	// security: Baseline runs any image without letting it gain privileges. Restricted
	// also refuses root, drops all capabilities and makes all but /tmp read-only;
	// ports below 1024 can still be listened on. Default Baseline.
	// +optional
	// +kubebuilder:default=Baseline
	Security commonv1.SecurityProfile `json:"security,omitempty"`

	// disruption bounds what evictions may take at once; it counts from size 2 on.
	// +optional
	Disruption *commonv1.Disruption `json:"disruption,omitempty"`

	// paused holds every write of the operator back. Deletion and status go on.
	// +optional
	Paused bool `json:"paused,omitempty"`

	commonv1.PodOptions `json:",inline"`
}

// Port is one port of the Service and of the container behind it. Its JSON is
// that of a core/v1 ServicePort.
//
// It stays the same port, and keeps its node port, while its number and protocol
// stay or its name stays.
type Port struct {
	// name of the port, needed when there is more than one: at most 15 lower case
	// letters, digits and '-', with at least one letter.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^([a-z0-9]+-)*[a-z0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$`
	Name string `json:"name,omitempty"`

	// protocol: TCP, UDP or SCTP. Default TCP.
	// +optional
	// +kubebuilder:default=TCP
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	Protocol corev1.Protocol `json:"protocol,omitempty"`

	// appProtocol is what is spoken over the port, as http or kubernetes.io/h2c.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	AppProtocol *string `json:"appProtocol,omitempty"`

	// port that the Service offers.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// targetPort is the number that the container listens on; default: port. A name
	// becomes the name of the container's port, whose number is port.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 65535 : self.matches('^([a-z0-9]+-)*[a-z0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$')",message="targetPort is a number from 1 to 65535 or a name of at most 15 lower case letters, digits and '-', with at least one letter"
	TargetPort *intstr.IntOrString `json:"targetPort,omitempty"`

	// nodePort on every node. Default: the cluster chooses one, which then stays.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	NodePort int32 `json:"nodePort,omitempty"`
}

// Exposure says how the ports are offered.
// +kubebuilder:validation:XValidation:rule="self.type != 'ClusterIP' || !has(self.externalTrafficPolicy)",message="externalTrafficPolicy needs type NodePort or LoadBalancer"
// +kubebuilder:validation:XValidation:rule="self.type == 'LoadBalancer' || !has(self.loadBalancerClass)",message="loadBalancerClass needs type LoadBalancer"
type Exposure struct {
	// type: ClusterIP within the cluster, NodePort on every node, LoadBalancer in
	// front of the nodes. Default NodePort.
	// +optional
	// +kubebuilder:default=NodePort
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// annotations of the Service. The operator's own win.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Annotations map[string]string `json:"annotations,omitempty"`

	// externalTrafficPolicy: Local keeps the client's address and answers only on
	// nodes that run a pod. Default Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// sessionAffinity: ClientIP sends a client to the same pod each time. Default None.
	// +optional
	// +kubebuilder:validation:Enum=None;ClientIP
	SessionAffinity corev1.ServiceAffinity `json:"sessionAffinity,omitempty"`

	// loadBalancerClass that is to serve a Service of type LoadBalancer. Default:
	// the cluster's. The cluster lets it be chosen only together with the type.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
}

// Probes of the container. A probe that names nothing to ask connects to the
// first TCP port, with the timing that it gives.
type Probes struct {
	// readiness: whether the pod gets traffic. Default: every 2 seconds, whether the
	// first TCP port accepts connections.
	// +optional
	Readiness *corev1.Probe `json:"readiness,omitempty"`

	// liveness: whether the container goes on or is restarted. Default: none.
	// +optional
	Liveness *corev1.Probe `json:"liveness,omitempty"`

	// startup holds the other two back until it has succeeded once. Default: none.
	// +optional
	Startup *corev1.Probe `json:"startup,omitempty"`
}

// Strategy of a rollout.
// +kubebuilder:validation:XValidation:rule="!has(self.maxSurge) || !has(self.maxUnavailable) || !(string(self.maxSurge) in ['0', '0%']) || !(string(self.maxUnavailable) in ['0', '0%'])",message="strategy: maxSurge and maxUnavailable must not both be 0, or no pod can be replaced"
// +kubebuilder:validation:XValidation:rule="(has(self.minReadySeconds) ? self.minReadySeconds : 0) < (has(self.progressDeadlineSeconds) ? self.progressDeadlineSeconds : 600)",message="strategy: progressDeadlineSeconds (600 when unset) must be greater than minReadySeconds"
type Strategy struct {
	// maxSurge: how many pods may run beyond size, a number or a percentage. Default 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]{0,3})%$')",message="strategy.maxSurge is a number from 0 or a percentage"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// maxUnavailable: how many pods of size may be missing, a number or a percentage. Default 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]?|100)%$')",message="strategy.maxUnavailable is a number from 0 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// minReadySeconds that a new pod must stay ready before the rollout goes on. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// progressDeadlineSeconds without progress after which the object is Degraded. Default 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// revisionHistoryLimit: how many old ReplicaSets are kept. Default 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// EasyServiceStatus says what was observed. The counts are those of an apps/v1
// DeploymentStatus.
type EasyServiceStatus struct {
	// observedGeneration is the generation of this object that the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas that exist and are not terminating.
	// +optional
	Replicas int32 `json:"replicas"`

	// updatedReplicas run this generation.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// readyReplicas pass their readiness probe.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// availableReplicas have been ready for at least minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// unavailableReplicas are still needed for all to be available.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas"`

	// terminatingReplicas are being deleted; absent when the cluster does not count them.
	// +optional
	TerminatingReplicas *int32 `json:"terminatingReplicas,omitempty"`

	// collisionCount of the Deployment's hash of its pods.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// selector of the pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// endpoints are the addresses of every port, sorted by name, type and url.
	// +optional
	// +listType=atomic
	Endpoints []Endpoint `json:"endpoints"`

	// conditions: Ready, Available, Progressing, Degraded, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Endpoint is one address of a port.
type Endpoint struct {
	// name of the port, or its number when it has none.
	Name string `json:"name"`

	// type: ClusterIP, the Service's name within the cluster; NodePort, the node
	// with the lowest address of those that run a ready pod; LoadBalancer, what the
	// load balancer was given.
	Type corev1.ServiceType `json:"type"`

	// url: its scheme is http or https when appProtocol or the port's name says so,
	// else the protocol in lower case.
	URL string `json:"url"`
}

// EasyService is an image that runs size times behind one Service.
//
// The name is bounded so that it is a valid Service name and label.
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
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name becomes the name of a Service: at most 63 characters, lower case letters, digits and '-', beginning with a letter"
type EasyService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec EasyServiceSpec `json:"spec"`
	// +optional
	Status EasyServiceStatus `json:"status,omitempty"`
}

// GetConditions gives the place where the conditions live.
func (e *EasyService) GetConditions() *[]metav1.Condition { return &e.Status.Conditions }

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
