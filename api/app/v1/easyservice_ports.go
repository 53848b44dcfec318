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
	// What the port is called, such as http; required if there are several ports. At most 15 lower case letters,
	// digits and '-', with at least one letter.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^([a-z0-9]+-)*[a-z0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$`
	Name string `json:"name,omitempty"`

	// Transport protocol: TCP, UDP or SCTP. Default: TCP.
	// +optional
	// +kubebuilder:default=TCP
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	Protocol corev1.Protocol `json:"protocol,omitempty"`

	// Application protocol that is spoken over the port, such as http or kubernetes.io/h2c. Default: not stated.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	AppProtocol *string `json:"appProtocol,omitempty"`

	// Number that clients of the Service connect to, from 1 to 65535.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// Where the container listens: a number; or a name, which the container's port then has, with the same number as
	// the Service's. Default: the number of the Service's port.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^([a-z0-9]+-)*[a-z0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$`
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 1 && self <= 65535"
	// +kubebuilder:validation:XValidation:rule="...",message="targetPort is a number from 1 to 65535 or a name"
	// +kubebuilder:validation:XValidation:rule="...",message="of at most 15 lower case letters, digits and '-', with at least one letter"
	TargetPort *intstr.IntOrString `json:"targetPort,omitempty"`

	// Number of the port on every node, from 1 to 65535, in the range that the cluster allows (mostly 30000 to 32767).
	// Default: the cluster chooses one, which then stays.
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
	// How clients reach the ports: ClusterIP within the cluster, NodePort on every node, LoadBalancer in front of the
	// nodes. Default: NodePort.
	// +optional
	// +kubebuilder:default=NodePort
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// Makes the Service's name resolve to the pods themselves, at the ports that they listen on. It needs
	// spec.service.type ClusterIP. It cannot be changed. Default: false.
	// +optional
	Headless bool `json:"headless,omitempty"`

	// Extra annotations of the Service, such as a cloud's settings for its load balancer. The operator's own take
	// precedence. At most 32.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 262144)"
	// +kubebuilder:validation:XValidation:rule="...",message="service.annotations: a key has at most 317 characters, its value at most 262144"
	Annotations map[string]string `json:"annotations,omitempty"`

	// Which nodes answer clients from outside: with Cluster all, with Local only those that run a pod, which then sees
	// the client's address. It needs spec.service.type NodePort or LoadBalancer. Default: Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// Which pod serves a client: with ClientIP the same one each time, with None any. Default: None.
	// +optional
	// +kubebuilder:validation:Enum=None;ClientIP
	SessionAffinity corev1.ServiceAffinity `json:"sessionAffinity,omitempty"`

	// Which implementation serves a Service of type LoadBalancer. It can be set only together with that type. Default:
	// the cluster's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
}

// EndpointIngress is the type of an address that an ingress controller serves.
const EndpointIngress corev1.ServiceType = "Ingress"

// Endpoint is one address of a port.
type Endpoint struct {
	// Port of the address: its name, or its number if it has none.
	Name string `json:"name"`

	// How the address is reached: ClusterIP by the Service's name; NodePort by the lowest address of the nodes that
	// run a ready pod; LoadBalancer by what the load balancer was given; Ingress by spec.ingress.host, or by what the
	// ingress controller was given.
	Type corev1.ServiceType `json:"type"`

	// Scheme, host and port. The scheme is http or https if the application protocol or the name of the port says so,
	// else the transport protocol in lower case.
	URL string `json:"url"`
}
