package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RetryPolicy says which attempts are followed by another, and when.
// +kubebuilder:validation:XValidation:rule="!has(self.exitCodes) || !has(self.causes) || 'Failed' in self.causes"
// +kubebuilder:validation:XValidation:rule="...",message="retryPolicy.exitCodes are those of Failed attempts:"
// +kubebuilder:validation:XValidation:rule="...",message="retryPolicy.causes must have Failed"
type RetryPolicy struct {
	// causes are the ends of an attempt that another may follow. Default: Failed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	Causes []RetryCause `json:"causes,omitempty"`

	// backoff is how long after the end of the first attempt the second starts, from
	// 0s to 10m. It doubles with each further one, up to 10m. Default 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[hms])+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('10m')",message="retryPolicy.backoff must be from 0s to 10m"
	Backoff *metav1.Duration `json:"backoff,omitempty"`

	// exitCodes of Failed attempts that another may follow. An attempt whose command
	// did not run has none, and is not judged by them. Default: all.
	// +optional
	ExitCodes *ExitCodes `json:"exitCodes,omitempty"`
}

// RetryCause is an end of an attempt that another may follow, in the words of ProcessState.
// +kubebuilder:validation:Enum=Failed;TimedOut
type RetryCause string

const (
	// RetryFailed : a failed attempt may be followed by another.
	RetryFailed = RetryCause(Failed)
	// RetryTimedOut : one that timed out may.
	RetryTimedOut = RetryCause(TimedOut)
)

// ExitCodes are a choice of them.
// +kubebuilder:validation:XValidation:rule="has(self.retryOn) != has(self.failOn)"
// +kubebuilder:validation:XValidation:rule="...",message="retryPolicy.exitCodes: give either retryOn or failOn"
type ExitCodes struct {
	// retryOn these and no others.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	RetryOn []int32 `json:"retryOn,omitempty"`

	// failOn these, and retry on all others.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	FailOn []int32 `json:"failOn,omitempty"`
}
