package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EasyServiceStatus says what was observed. The counts are those of an apps/v1
// DeploymentStatus.
type EasyServiceStatus struct {
	// observedGeneration is the generation of this object that the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas that exist and are not terminating.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pods"
	Replicas int32 `json:"replicas"`

	// updatedReplicas run this generation.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Updated Pods"
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// readyReplicas pass their readiness probe.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready Pods"
	ReadyReplicas int32 `json:"readyReplicas"`

	// availableReplicas have been ready for at least minReadySeconds.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Available Pods"
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

	// image that ready pods of the newest template run, with its digest, in the words of
	// their node.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Image string `json:"image,omitempty"`

	// lastRollout is the latest one, done or not.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last Rollout"
	LastRollout *Rollout `json:"lastRollout,omitempty"`

	// stableReplicaSet is the ReplicaSet of the last rollout that was completed.
	// +optional
	StableReplicaSet string `json:"stableReplicaSet,omitempty"`

	// endpoints are the addresses of every port, sorted by name, type and url.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Endpoints []Endpoint `json:"endpoints"`

	// conditions: Ready, Available, Progressing, Degraded, Stalled, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
