package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodOptions are the parts of a pod that all kinds but EtcdBackup, RedisBackup and EtcdRestore let their user choose.
type PodOptions struct {
	// imagePullPolicy of every container. Default: the API server's rule for the image's tag.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets name Secrets of the same namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(s, !has(s.name) || size(s.name) <= 253)"
	// +kubebuilder:validation:XValidation:rule="...",message="imagePullSecrets: a name has at most 253 characters"
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// podLabels are added to the pods. The operator's own labels win.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)"
	// +kubebuilder:validation:XValidation:rule="...",message="podLabels: a key has at most 317 characters, its value at most 63"
	PodLabels map[string]string `json:"podLabels,omitempty"`

	// podAnnotations are added to the pods. The operator's own annotations win. The API
	// server makes those of AppArmor the container's profile: they are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('container.apparmor.security.beta.kubernetes.io/'))"
	// +kubebuilder:validation:XValidation:rule="...",message="podAnnotations cannot choose an AppArmor profile"
	// +kubebuilder:validation:XValidation:rule="...",message="(container.apparmor.security.beta.kubernetes.io):"
	// +kubebuilder:validation:XValidation:rule="...",message="the pods run with the node's default"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 262144)"
	// +kubebuilder:validation:XValidation:rule="...",message="podAnnotations: a key has at most 317 characters, its value at most 262144"
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`

	// terminationGracePeriodSeconds a pod has between SIGTERM and SIGKILL. Default 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	Scheduling `json:",inline"`
}

// Scheduling says where pods may run.
type Scheduling struct {
	// nodeSelector: labels that a node must bear.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)"
	// +kubebuilder:validation:XValidation:rule="...",message="nodeSelector: a key has at most 317 characters, its value at most 63"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations of node taints.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, (!has(t.key) || size(t.key) <= 317) && (!has(t.value) || size(t.value) <= 63)"
	// +kubebuilder:validation:XValidation:rule="... && (!has(t.operator) || size(t.operator) <= 63)"
	// +kubebuilder:validation:XValidation:rule="... && (!has(t.effect) || size(t.effect) <= 63))"
	// +kubebuilder:validation:XValidation:rule="...",message="tolerations: a key has at most 317 characters, each other text at most 63"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity to nodes and pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints. Default: a soft spread over hosts and zones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// Disruption bounds how many pods an eviction may take at once.
type Disruption struct {
	// maxUnavailable pods, a number or a percentage. Default 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[0-9]{1,2})%$')"
	// +kubebuilder:validation:XValidation:rule="...",message="disruption.maxUnavailable is a number from 0 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// SecurityProfile names a Pod Security level that the pods are made to meet.
// +kubebuilder:validation:Enum=Baseline;Restricted
type SecurityProfile string

const (
	// SecurityBaseline : seccomp RuntimeDefault, no privilege escalation; the image's own user.
	SecurityBaseline SecurityProfile = "Baseline"
	// SecurityRestricted : also non-root, no capabilities, read-only root file system.
	SecurityRestricted SecurityProfile = "Restricted"
)
