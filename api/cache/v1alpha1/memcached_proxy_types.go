package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// MemcachedProxy is memcached's own proxy. Each key has its node by a hash that moves as
// few as can be when size changes. A key of a node that is down is refused until it is
// back, and never looked for elsewhere, where it could be an old one.
type MemcachedProxy struct {
	// Runs memcached's own proxy behind the Service <name>-proxy, which is then status.endpoint. It speaks the ASCII
	// protocol and the meta commands, not the binary protocol. It excludes spec.tls and spec.auth. Default: false.
	// +optional
	// +kubebuilder:default=false
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled bool `json:"enabled"`

	// Number of the proxy's pods, from 1 to 64. Default: 2.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy Pods"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas *int32 `json:"replicas,omitempty"`

	// CPU and memory of each pod of the proxy, as requests and limits. Default: requests of 10m CPU and 64Mi memory;
	// limits of one CPU more than spec.threads, and of 64Mi, 32Ki for each of spec.connections, and 64 of the largest
	// items.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxy Resources"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
}

// MemcachedMetrics is how Prometheus learns of the nodes.
type MemcachedMetrics struct {
	// Runs an exporter in each pod, at port 9150, path /metrics; the Service <name>-headless offers it as port
	// metrics. A change replaces the pods. It excludes spec.auth. Default: false.
	// +optional
	// +kubebuilder:default=false
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metrics"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Enabled bool `json:"enabled"`

	// Container image of the exporter. Default: the operator's choice, made once and then kept.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exporter's Image"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Image string `json:"image,omitempty"`

	// How the Prometheus operator, which the cluster must have, scrapes the metrics. Default: not at all.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service Monitor"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ServiceMonitor *commonv1.ServiceMonitor `json:"serviceMonitor,omitempty"`
}
