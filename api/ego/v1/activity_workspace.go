package v1

import "k8s.io/apimachinery/pkg/api/resource"

// Workspace is a volume: a claim's, which outlives the run, or an empty one for each attempt.
// +kubebuilder:validation:XValidation:rule="!has(self.claimName) || !has(self.size)",message="workspace: give either claimName or size"
// +kubebuilder:validation:XValidation:rule="!has(self.path) || has(self.claimName) || has(self.size)"
// +kubebuilder:validation:XValidation:rule="...",message="workspace.path needs claimName or size"
type Workspace struct {
	// PersistentVolumeClaim of the same namespace, which is kept when the run has ended. Give either this or a size.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClaimName string `json:"claimName,omitempty"`

	// Capacity of an empty volume, such as 1Gi, which goes with the pod of each attempt. A command that writes more is
	// stopped: Failed, Evicted. Give either this or a claim.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE].{4}|.{33}')"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).isGreaterThan(quantity('0'))"
	// +kubebuilder:validation:XValidation:rule="...",message="workspace.size must be above 0"
	Size *resource.Quantity `json:"size,omitempty"`

	// Where the volume is mounted, outside of /proc, /sys, /dev and /run. Default: /workspace.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9._-]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^/(proc|sys|dev|run|var/run)(/|$)') && !self.matches('/[.]{1,2}(/|$)')"
	// +kubebuilder:validation:XValidation:rule="...",message="workspace.path must lie outside of /proc, /sys, /dev and /run, without . and .."
	Path string `json:"path,omitempty"`
}
