package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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
	// +kubebuilder:validation:Pattern=`^([a-z0-9]+-)*[a-z0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$`
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 1 && self <= 65535"
	// +kubebuilder:validation:XValidation:rule="...",message="targetPort is a number from 1 to 65535 or a name"
	// +kubebuilder:validation:XValidation:rule="...",message="of at most 15 lower case letters, digits and '-', with at least one letter"
	TargetPort *intstr.IntOrString `json:"targetPort,omitempty"`

	// nodePort is the port on every node. If you set it, it is used. Default: the cluster chooses one, which then stays.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	NodePort int32 `json:"nodePort,omitempty"`
}

// Exposure says how the ports are offered.
// +kubebuilder:validation:XValidation:rule="self.type != 'ClusterIP' || !has(self.externalTrafficPolicy)"
// +kubebuilder:validation:XValidation:rule="...",message="externalTrafficPolicy needs type NodePort or LoadBalancer"
// +kubebuilder:validation:XValidation:rule="self.type == 'ClusterIP' || !has(self.headless) || !self.headless"
// +kubebuilder:validation:XValidation:rule="...",message="service.headless needs service.type ClusterIP"
// +kubebuilder:validation:XValidation:rule="(has(self.headless) && self.headless) == (has(oldSelf.headless) && oldSelf.headless)"
// +kubebuilder:validation:XValidation:rule="...",message="service.headless cannot be changed, since a Service keeps its address;"
// +kubebuilder:validation:XValidation:rule="...",message="make another EasyService"
// +kubebuilder:validation:XValidation:rule="self.type == 'LoadBalancer' || !has(self.loadBalancerClass)"
// +kubebuilder:validation:XValidation:rule="...",message="loadBalancerClass needs type LoadBalancer"
type Exposure struct {
	// type: ClusterIP within the cluster, NodePort on every node, LoadBalancer in
	// front of the nodes. Default NodePort.
	// +optional
	// +kubebuilder:default=NodePort
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// headless: the Service's name leads to the pods themselves, and to the ports that
	// they listen on. It cannot be changed.
	// +optional
	Headless bool `json:"headless,omitempty"`

	// annotations of the Service. The operator's own win.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 262144)"
	// +kubebuilder:validation:XValidation:rule="...",message="service.annotations: a key has at most 317 characters, its value at most 262144"
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

// EndpointIngress is the type of an address that an ingress controller serves.
const EndpointIngress corev1.ServiceType = "Ingress"

// Endpoint is one address of a port.
type Endpoint struct {
	// name of the port, or its number when it has none.
	Name string `json:"name"`

	// type: ClusterIP, the Service's name within the cluster; NodePort, the node
	// with the lowest address of those that run a ready pod; LoadBalancer, what the
	// load balancer was given; Ingress, ingress.host, or what the ingress controller was given.
	Type corev1.ServiceType `json:"type"`

	// url: its scheme is http or https when appProtocol or the port's name says so,
	// else the protocol in lower case.
	URL string `json:"url"`
}
