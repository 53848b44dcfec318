package v1

import (
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Route asks for an HTTPRoute of Gateway API, https://gateway-api.sigs.k8s.io/api-types/httproute/
type Route struct {
	// parentRefs: the Gateways that the route attaches to.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	ParentRefs []ParentRef `json:"parentRefs"`

	// hostnames that the route answers to. Default: those of the Gateway's listeners.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Hostnames []string `json:"hostnames,omitempty"`

	// path that requests start with. Default /.
	// +optional
	// +kubebuilder:default=/
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`

	// port of spec.ports that requests are sent to. Default: the first TCP port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// ParentRef names a Gateway.
type ParentRef struct {
	// name of the Gateway.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the Gateway. Default: the object's own.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// sectionName: the one listener of the Gateway to attach to. Default: all that allow it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SectionName string `json:"sectionName,omitempty"`
}

// Metrics says where the pods serve their metrics, and has them scraped.
type Metrics struct {
	// port: the name of a port of spec.ports.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Port string `json:"port"`

	// path of the metrics. Default /metrics.
	// +optional
	// +kubebuilder:default=/metrics
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`

	// serviceMonitor for the Prometheus operator, which the cluster must have.
	// +required
	ServiceMonitor commonv1.ServiceMonitor `json:"serviceMonitor"`
}
