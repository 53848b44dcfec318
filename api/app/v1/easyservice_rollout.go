package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Probes of the container. A probe that names nothing to ask connects to the
// first TCP port, with the timing that it gives.
type Probes struct {
	// readiness: whether the pod gets traffic. Default: every 2 seconds, whether the
	// first TCP port accepts connections.
	// +optional
	Readiness *corev1.Probe `json:"readiness,omitempty"`

	// liveness: whether the container continues or is restarted. Default: none.
	// +optional
	Liveness *corev1.Probe `json:"liveness,omitempty"`

	// startup holds the other two back until it has succeeded once. Default: none.
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
	// maxSurge: how many pods may run beyond size, a number or a percentage. Default 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]{0,3})%$')"
	// +kubebuilder:validation:XValidation:rule="...",message="strategy.maxSurge is a number from 0 or a percentage"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// maxUnavailable: how many pods of size may be missing, a number or a percentage. Default 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]?|100)%$')"
	// +kubebuilder:validation:XValidation:rule="...",message="strategy.maxUnavailable is a number from 0 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// minReadySeconds that a new pod must stay ready before the rollout continues. Default 0,
	// which means 10, and less than progressDeadlineSeconds, where nothing asks the
	// container whether it is ready: without a TCP port and without probes.readiness.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// progressDeadlineSeconds without progress after which the object is Degraded. Default 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// revisionHistoryLimit: how many old ReplicaSets are kept. Default 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// drainSeconds that a pod which must go serves on, while the cluster learns to send
	// nothing more to it. Default 5, and at most half of terminationGracePeriodSeconds;
	// without ports 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3599
	DrainSeconds *int64 `json:"drainSeconds,omitempty"`

	// onFailure: Rollback returns to the pods of the last completed rollout when
	// progressDeadlineSeconds is exceeded, until the spec asks for other pods. Keep
	// leaves things as they are. Default Keep.
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
	// template that the spec asks for, as a hash.
	Template string `json:"template"`

	// generation of the object that asked for it first.
	Generation int64 `json:"generation"`

	// startTime is when it was asked for.
	StartTime metav1.Time `json:"startTime"`

	// finishTime is when it was completed or given up.
	// +optional
	FinishTime *metav1.Time `json:"finishTime,omitempty"`

	// result: Running, Completed or RolledBack.
	Result RolloutResult `json:"result"`

	// message says why it was rolled back.
	// +optional
	Message string `json:"message,omitempty"`
}
