package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ProcessState is the state of the command.
// +kubebuilder:validation:Enum=Pending;Suspended;Starting;Running;Retrying;Succeeded;Failed;TimedOut;Cancelled;Lost
type ProcessState string

const (
	// Pending : the pod waits for a node.
	Pending ProcessState = "Pending"
	// Suspended : spec.suspend holds back what has not started.
	Suspended ProcessState = "Suspended"
	// Starting : the pod has a node; the command does not run yet.
	Starting ProcessState = "Starting"
	// Running : the command runs.
	Running ProcessState = "Running"
	// Retrying : an attempt failed and the next one does not run yet.
	Retrying ProcessState = "Retrying"
	// Succeeded : the command ended with exit code 0.
	Succeeded ProcessState = "Succeeded"
	// Failed : the command ended otherwise, or could not be started, and no retry is left.
	Failed ProcessState = "Failed"
	// TimedOut : the command did not end within spec.timeout and was stopped.
	TimedOut ProcessState = "TimedOut"
	// Cancelled : spec.cancel ended the command, or came before it started.
	Cancelled ProcessState = "Cancelled"
	// Lost : the pod is gone, or its node is; how the command ended is unknown.
	// It may have run, so it is not run again.
	Lost ProcessState = "Lost"
)

// Finished is true when nothing of the Activity will run any more.
func (p ProcessState) Finished() bool {
	switch p {
	case Succeeded, Failed, TimedOut, Cancelled, Lost:
		return true
	case Pending, Suspended, Starting, Running, Retrying:
	}
	return false
}

// Result is how a run of the command went, where it is known.
type Result struct {
	// Number with which the command ended; 0 is success.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Exit Code"
	ExitCode *int32 `json:"exitCode,omitempty"`

	// Number of the signal that ended the command, as the runtime reports it; else the exit code less 128, as shells
	// count.
	// +optional
	Signal *int32 `json:"signal,omitempty"`

	// One word for why it is in its state, such as OOMKilled or DeadlineExceeded.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Reason string `json:"reason,omitempty"`

	// Explanation of the reason.
	// +optional
	Message string `json:"message,omitempty"`

	// Node that the command runs or ran on.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Node",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	NodeName string `json:"nodeName,omitempty"`

	// When the command started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// When the command ended; if that is unknown, when its end was noted.
	// +optional
	FinishTime *metav1.Time `json:"finishTime,omitempty"`
}

// Attempt is one pod that runs the command, at most once.
type Attempt struct {
	// Which attempt it is, counted from 1.
	Number int32 `json:"number"`

	// Pod that runs the attempt. It is recorded before the pod is made.
	PodName string `json:"podName"`

	// UID of the pod that runs the attempt. It is recorded before the pod may start, and never changed: no other pod
	// runs this attempt.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`

	// Container image of the guard, which keeps the command from being started twice and reports what it printed. It
	// is recorded before the pod is made. Empty: the shell of the command's own image guards it, and reports nothing.
	// +optional
	GuardImage string `json:"guardImage,omitempty"`

	// Whether the pod gets the annotation mainstay-operator.io/started once its container was seen to run: a node that
	// lost its disk, and with it what the guard keeps there, then does not run the command again. It is recorded
	// before the pod is made.
	// +optional
	StartMarked bool `json:"startMarked,omitempty"`

	// Process state of this attempt's command, such as Running or Succeeded.
	Prosta ProcessState `json:"prosta"`

	Result `json:",inline"`
}

// ActivityStatus says what was observed.
type ActivityStatus struct {
	// The metadata.generation that this status describes. While it is lower than the object's, the status is out of
	// date.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Process state of the whole run, such as Running or Succeeded.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Process State"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Prosta ProcessState `json:"prosta,omitempty"`

	// The result of the last attempt; startTime is that of the first.
	Result `json:",inline"`

	// Time from status.startTime to status.finishTime, retries included, in whole seconds.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Duration *metav1.Duration `json:"duration,omitempty"`

	// Container image that the command runs in.
	// +optional
	Image string `json:"image,omitempty"`

	// The uid:gid that the name in spec.execuser meant when it was looked up.
	// +optional
	ExecUser string `json:"execuser,omitempty"`

	// End of what the last attempt printed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="End of the Output"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	OutputTail string `json:"outputTail,omitempty"`

	// Whether the last attempt printed more than status.outputTail keeps.
	// +optional
	OutputTruncated bool `json:"outputTruncated,omitempty"`

	// Whether status.outputTail has the end of what the last attempt printed. False: the runtime of the node lost the
	// end. Not set: it is not known, because no output is kept, or the guard did not report it, or its report cannot
	// be compared with the log.
	// +optional
	OutputComplete *bool `json:"outputComplete,omitempty"`

	// Pods that run or ran the command, the last one last.
	// +optional
	// +listType=map
	// +listMapKey=number
	// +kubebuilder:validation:MaxItems=11
	Attempts []Attempt `json:"attempts"`

	// State of the object, with reasons: Complete, Failed, Progressing, Degraded, Reconciling, Stalled, Suspended,
	// HostResolved, NodeReachable.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
