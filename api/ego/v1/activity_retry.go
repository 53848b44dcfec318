package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RetryPolicy says which attempts are followed by another, and when.
// +kubebuilder:validation:XValidation:rule="!has(self.exitCodes) || !has(self.causes) || 'Failed' in self.causes"
// +kubebuilder:validation:XValidation:rule="...",message="retryPolicy.exitCodes are those of Failed attempts:"
// +kubebuilder:validation:XValidation:rule="...",message="retryPolicy.causes must have Failed"
type RetryPolicy struct {
	// Which ends of an attempt another may follow: Failed, TimedOut or both. Default: Failed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	Causes []RetryCause `json:"causes,omitempty"`

	// Pause between the end of the first attempt and the start of the second, from 0s to 10m. It doubles with each
	// further one, up to 10m. Default: 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[hms])+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('10m')",message="retryPolicy.backoff must be from 0s to 10m"
	Backoff *metav1.Duration `json:"backoff,omitempty"`

	// Choice of the failed attempts that another may follow, by the command's exit code. It is not asked about an
	// attempt whose command did not run. Default: all.
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
	// Exit codes after which another attempt may follow, from 1 to 255; after others none does. Give either these or
	// spec.retryPolicy.exitCodes.failOn.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	RetryOn []int32 `json:"retryOn,omitempty"`

	// Exit codes after which no other attempt follows, from 1 to 255; after others one may. Give either these or
	// spec.retryPolicy.exitCodes.retryOn.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	FailOn []int32 `json:"failOn,omitempty"`
}
