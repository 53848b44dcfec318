package v1

import (
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Route asks for an HTTPRoute of Gateway API, https://gateway-api.sigs.k8s.io/api-types/httproute/
type Route struct {
	// Gateways that the HTTPRoute attaches to, from 1 to 8.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	ParentRefs []ParentRef `json:"parentRefs"`

	// DNS names that the HTTPRoute answers to, such as shop.example.org; the first part of each may be *. At most 16.
	// Default: those of the Gateway's listeners.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Hostnames []string `json:"hostnames,omitempty"`

	// URL path that requests start with, such as /api. It starts with /. Default: /.
	// +optional
	// +kubebuilder:default=/
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`

	// Number of the port of spec.ports that requests are sent to. Default: the first TCP port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// ParentRef names a Gateway.
type ParentRef struct {
	// Gateway that serves the HTTPRoute.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Where the Gateway is, if in another namespace than this object. Default: this object's namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// The one listener of the Gateway to attach to. Default: all that allow it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SectionName string `json:"sectionName,omitempty"`
}

// Metrics says where the pods serve their metrics, and has them scraped.
type Metrics struct {
	// Name of the port of spec.ports that serves the metrics.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Port string `json:"port"`

	// URL path of the metrics. It starts with /. Default: /metrics.
	// +optional
	// +kubebuilder:default=/metrics
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`

	// How the Prometheus operator, which the cluster must have, scrapes the metrics.
	// +required
	ServiceMonitor commonv1.ServiceMonitor `json:"serviceMonitor"`
}
