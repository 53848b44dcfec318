package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Probes of the container. A probe that names nothing to ask connects to the
// first TCP port, with the timing that it gives.
type Probes struct {
	// Check that decides whether a pod gets traffic. One without an action connects to the first TCP port. Default:
	// every 2 seconds, whether the first TCP port accepts connections.
	// +optional
	Readiness *corev1.Probe `json:"readiness,omitempty"`

	// Check whose failure restarts the container. One without an action connects to the first TCP port. Default: none.
	// +optional
	Liveness *corev1.Probe `json:"liveness,omitempty"`

	// Check that must succeed once before the other two start. One without an action connects to the first TCP port.
	// Default: none.
	// +optional
	Startup *corev1.Probe `json:"startup,omitempty"`
}

// Strategy of a rollout.
// +kubebuilder:validation:XValidation:rule="!has(self.maxSurge) || !has(self.maxUnavailable) || !(string(self.maxSurge) in ['0', '0%'])"
// +kubebuilder:validation:XValidation:rule="... || !(string(self.maxUnavailable) in ['0', '0%'])"
// +kubebuilder:validation:XValidation:rule="...",message="strategy:"
// +kubebuilder:validation:XValidation:rule="...",message="maxSurge and maxUnavailable must not both be 0, or no pod can be replaced"
// +kubebuilder:validation:XValidation:rule="(has(self.minReadySeconds) ? self.minReadySeconds : 0)"
// +kubebuilder:validation:XValidation:rule="... < (has(self.progressDeadlineSeconds) ? self.progressDeadlineSeconds : 600)"
// +kubebuilder:validation:XValidation:rule="...",message="strategy:"
// +kubebuilder:validation:XValidation:rule="...",message="progressDeadlineSeconds (600 when unset) must be greater than minReadySeconds"
type Strategy struct {
	// How many pods may run beyond spec.size during a rollout: a number, or a percentage such as 25%. Default: 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]{0,3})%$')"
	// +kubebuilder:validation:XValidation:rule="...",message="strategy.maxSurge is a number from 0 or a percentage"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// How many pods of spec.size may be missing during a rollout: a number, or a percentage such as 25%. It and
	// spec.strategy.maxSurge must not both be 0. Default: 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]?|100)%$')"
	// +kubebuilder:validation:XValidation:rule="...",message="strategy.maxUnavailable is a number from 0 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Seconds that a new pod must stay ready before the rollout continues, from 0 to 3600. Default: 0. If nothing
	// checks readiness (no TCP port, no spec.probes.readiness), 0 means 10, and less than
	// spec.strategy.progressDeadlineSeconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Seconds without progress after which a rollout has failed and the object is Degraded, from 1 to 86400. Default:
	// 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// How many former ReplicaSets are kept, from 0 to 100. Default: 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// Seconds that a terminating pod keeps serving, while the cluster stops sending traffic to it; from 0 to 3599.
	// Default: 5, and at most half of spec.terminationGracePeriodSeconds; without ports 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3599
	DrainSeconds *int64 `json:"drainSeconds,omitempty"`

	// What happens to a rollout that exceeds spec.strategy.progressDeadlineSeconds: Keep leaves it as it is, Rollback
	// returns to the pods of the last completed rollout until the spec asks for other pods. Default: Keep.
	// +optional
	// +kubebuilder:validation:Enum=Keep;Rollback
	OnFailure OnFailure `json:"onFailure,omitempty"`
}

// OnFailure is what becomes of a rollout that exceeds its deadline.
type OnFailure string

const (
	// Keep leaves the rollout as it stands: old pods that still serve, new ones that do not.
	Keep OnFailure = "Keep"
	// Rollback returns to the pods of the last completed rollout.
	Rollback OnFailure = "Rollback"
)

// RolloutResult is how a rollout ended.
// +kubebuilder:validation:Enum=Running;Completed;RolledBack
type RolloutResult string

const (
	// RolloutRunning : it has not ended.
	RolloutRunning RolloutResult = "Running"
	// RolloutCompleted : every pod is of the new template, and available.
	RolloutCompleted RolloutResult = "Completed"
	// RolloutRolledBack : it failed, and the pods of the last completed one are asked for.
	RolloutRolledBack RolloutResult = "RolledBack"
)

// Rollout is the replacing of pods by those of another template.
type Rollout struct {
	// Hash of the pod template that the spec asks for.
	Template string `json:"template"`

	// First metadata.generation that asked for this template.
	Generation int64 `json:"generation"`

	// When the rollout was asked for.
	StartTime metav1.Time `json:"startTime"`

	// When the rollout was completed or given up; empty before.
	// +optional
	FinishTime *metav1.Time `json:"finishTime,omitempty"`

	// How the rollout ended: Completed or RolledBack; Running before.
	Result RolloutResult `json:"result"`

	// Why the rollout was rolled back; empty if it was not.
	// +optional
	Message string `json:"message,omitempty"`
}
