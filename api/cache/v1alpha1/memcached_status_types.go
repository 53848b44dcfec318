package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemcachedStatus says what was observed.
type MemcachedStatus struct {
	// The metadata.generation that this status describes. While it is lower than the object's, the status is out of
	// date.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Names of the pods that are ready, sorted.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready Nodes"
	Nodes []string `json:"nodes"`

	// Stable addresses of all nodes, by ordinal, also of one that restarts. A client that spreads its keys over the
	// nodes is configured with them.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Servers []string `json:"servers"`

	// Number of pods that exist.
	// +optional
	Replicas int32 `json:"replicas"`

	// Number of nodes that serve.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready"
	ReadyReplicas int32 `json:"readyReplicas"`

	// Number of pods that run the present generation of the spec.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// Labels of the pods, by which an autoscaler finds them.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Host and port for clients: of the Service in front of all nodes, or of the proxy.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// State of the object, with reasons: Ready, Available, Progressing, Degraded, Stalled, Paused, UpdateAvailable;
	// with spec.tls CertificatesInSync, with spec.auth CredentialsInSync.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
