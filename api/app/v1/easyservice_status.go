package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EasyServiceStatus says what was observed. The counts are those of an apps/v1
// DeploymentStatus.
type EasyServiceStatus struct {
	// The metadata.generation that this status describes. While it is lower than the object's, the status is out of
	// date.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Number of pods that exist and are not terminating.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pods"
	Replicas int32 `json:"replicas"`

	// Number of pods that run the present generation of the spec.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Updated Pods"
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// Number of pods that pass their readiness probe.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready Pods"
	ReadyReplicas int32 `json:"readyReplicas"`

	// Number of pods that have been ready for at least spec.strategy.minReadySeconds.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Available Pods"
	AvailableReplicas int32 `json:"availableReplicas"`

	// Number of pods that are still missing until all are available.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas"`

	// Number of pods that are being deleted; empty if the cluster does not count them.
	// +optional
	TerminatingReplicas *int32 `json:"terminatingReplicas,omitempty"`

	// How often the Deployment's hash of its pod template was that of another one.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// Labels of the pods, by which an autoscaler finds them.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Container image, with its digest, that ready pods of the newest template run, as their node reports it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Image string `json:"image,omitempty"`

	// The latest replacement of pods, ended or not.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last Rollout"
	LastRollout *Rollout `json:"lastRollout,omitempty"`

	// Name of the ReplicaSet of the last completed rollout.
	// +optional
	StableReplicaSet string `json:"stableReplicaSet,omitempty"`

	// Addresses of every port, sorted by name, type and URL.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Endpoints []Endpoint `json:"endpoints"`

	// State of the object, with reasons: Ready, Available, Progressing, Degraded, Stalled, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
