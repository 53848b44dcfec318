package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodOptions are the parts of a pod that all kinds but EtcdBackup, RedisBackup and EtcdRestore let their user choose.
type PodOptions struct {
	// When nodes pull the images: Always, IfNotPresent or Never. Default: Always for an image without a tag or with
	// the tag latest, else IfNotPresent.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// Secrets of the same namespace with which the nodes pull the images. At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(s, !has(s.name) || size(s.name) <= 253)"
	// +kubebuilder:validation:XValidation:rule="...",message="imagePullSecrets: a name has at most 253 characters"
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// Extra labels of the pods, next to the operator's own, which take precedence. At most 32.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)"
	// +kubebuilder:validation:XValidation:rule="...",message="podLabels: a key has at most 317 characters, its value at most 63"
	PodLabels map[string]string `json:"podLabels,omitempty"`

	// Extra annotations of the pods, next to the operator's own, which take precedence. Those that choose an AppArmor
	// profile are refused. At most 32.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('container.apparmor.security.beta.kubernetes.io/'))"
	// +kubebuilder:validation:XValidation:rule="...",message="podAnnotations cannot choose an AppArmor profile"
	// +kubebuilder:validation:XValidation:rule="...",message="(container.apparmor.security.beta.kubernetes.io):"
	// +kubebuilder:validation:XValidation:rule="...",message="the pods run with the node's default"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 262144)"
	// +kubebuilder:validation:XValidation:rule="...",message="podAnnotations: a key has at most 317 characters, its value at most 262144"
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`

	// Seconds that a pod has to end, between SIGTERM and SIGKILL; from 0 to 3600. Default: 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	Scheduling `json:",inline"`
}

// Scheduling says where pods may run.
type Scheduling struct {
	// Labels that a node must have to run the pods, such as kubernetes.io/arch: amd64. At most 32. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)"
	// +kubebuilder:validation:XValidation:rule="...",message="nodeSelector: a key has at most 317 characters, its value at most 63"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Taints of nodes that do not keep the pods away, as in a pod of Kubernetes. At most 32. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, (!has(t.key) || size(t.key) <= 317) && (!has(t.value) || size(t.value) <= 63)"
	// +kubebuilder:validation:XValidation:rule="... && (!has(t.operator) || size(t.operator) <= 63)"
	// +kubebuilder:validation:XValidation:rule="... && (!has(t.effect) || size(t.effect) <= 63))"
	// +kubebuilder:validation:XValidation:rule="...",message="tolerations: a key has at most 317 characters, each other text at most 63"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Which nodes and other pods the pods are placed near to or apart from, as in a pod of Kubernetes. Default: none.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// How evenly the pods are spread over hosts and zones, as in a pod of Kubernetes. At most 8. Default: evenly over
	// both, where that is possible.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// PriorityClass of the pods, by which they are scheduled before others. Default: the cluster's.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// Disruption bounds how many pods an eviction may take at once.
type Disruption struct {
	// How many pods may be evicted at once: a number, or a percentage such as 25%. 0 blocks every drain. Default: 1.
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
