package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemcachedStatus says what was observed.
type MemcachedStatus struct {
	// observedGeneration is the generation of this object that the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// nodes are the names of the pods that are ready, sorted.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready Nodes"
	Nodes []string `json:"nodes"`

	// servers are the stable addresses of all nodes, by ordinal, also while one
	// restarts: what a consistent-hash client is configured with.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Servers []string `json:"servers"`

	// replicas that exist.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas serve.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready"
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas run this generation.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// selector of the pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// endpoint is host:port of the Service in front of all nodes, or of the proxy's.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// conditions: Ready, Available, Progressing, Degraded, Stalled, Paused, UpdateAvailable,
	// with tls CertificatesInSync, with auth CredentialsInSync.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
