package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Once released, no rule of ActivitySpec may change, nor may one be added: the check of
// an upgrade refuses such a CRD. hack/crdbounds gives a field that comes later a rule on
// the field itself, unless it is listed there as one that may change. A field with such a
// rule has a default, so that it is always there.

// ActivitySpec says what is run, once. It is the record of one run, so it cannot
// be changed but for suspend, startDeadline, resources, cancel and ttlSecondsAfterFinished.
//
// +kubebuilder:validation:XValidation:rule="self.security != 'Restricted' || !has(self.execuser)"
// +kubebuilder:validation:XValidation:rule="... || !self.execuser.matches('^(root|0)(:|$)')"
// +kubebuilder:validation:XValidation:rule="...",message="execuser root needs security: Baseline"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cancel) || !oldSelf.cancel || (has(self.cancel) && self.cancel)"
// +kubebuilder:validation:XValidation:rule="...",message="cancel cannot be taken back"
// +kubebuilder:validation:XValidation:rule="built: activity.run"
// +kubebuilder:validation:XValidation:rule="built: activity.process"
// +kubebuilder:validation:XValidation:rule="built: activity.pod"
// +kubebuilder:validation:XValidation:rule="built: activity.scheduling"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || has(self.args) || !has(self.envs)",fieldPath=".envs",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="... || self.envs.all(e, e.matches('^[A-Za-z_][A-Za-z0-9_]*='))"
// +kubebuilder:validation:XValidation:rule="...",messageExpression="self.envs.filter(e,"
// +kubebuilder:validation:XValidation:rule="...",messageExpression="!e.matches('^[A-Za-z_][A-Za-z0-9_]*='))[0].split('=', 2)[0]"
// +kubebuilder:validation:XValidation:rule="...",messageExpression="+ ' is a name of more than letters, digits and _: /bin/sh, which reads"
// +kubebuilder:validation:XValidation:rule="...",messageExpression="a command without args, drops such variables. Rename it, or give args'"
// +kubebuilder:validation:XValidation:rule="...",message="/bin/sh, which reads a command without args, drops variables whose names have"
// +kubebuilder:validation:XValidation:rule="...",message="more than letters, digits and _: rename them, or give args"
type ActivitySpec struct {
	// Shell line that the image's /bin/sh runs, such as echo hello > /workspace/greeting. With spec.args it is the
	// program alone, found through PATH, and no shell reads it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:Pattern=`^[^\x00]*[^\s\x00][^\x00]*$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Command string `json:"command"`

	// Arguments of spec.command, passed as they are. The image needs no shell then. At most 64. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:items:Pattern=`^[^\x00]*$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Arguments"
	Args []string `json:"args,omitempty"`

	// Container image that the command runs in. Default: the operator's choice, made once and then kept.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// Exact name of the node to run on. Its taints and capacity still count. Default: any node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Host string `json:"host,omitempty"`

	// User that the command runs as: a uid, uid:gid, nobody (65534:65534), or root (with spec.security Baseline). Any
	// other name is looked up in the ConfigMap activity-users of the namespace. Default: 65532 with Restricted, the
	// image's user with Baseline.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([a-z_][a-z0-9_.-]*|(0|[1-9][0-9]{0,9})(:(0|[1-9][0-9]{0,9}))?)$`
	// +kubebuilder:validation:XValidation:rule="self.split(':').all(id, !id.matches('^[0-9]{1,10}$') || int(id) <= 2147483647)"
	// +kubebuilder:validation:XValidation:rule="...",message="execuser: a uid and a gid are at most 2147483647"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="User",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ExecUser string `json:"execuser,omitempty"`

	// Absolute path of the directory that the command starts in. It is made if the image lacks it. Default: the
	// workspace if there is one, else the image's.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^\x00]*$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Directory",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ExecCwd string `json:"execcwd,omitempty"`

	// Environment variables of the command, each NAME=value; the value is used as it is. A name may occur once.
	// Without spec.args it has only letters, digits and _, as /bin/sh drops others. At most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z_][A-Za-z0-9_.-]*=[^\x00]*$`
	// +kubebuilder:validation:XValidation:rule="self.map(e, e.split('=', 2)[0]).all(n, size(self.filter(e, e.startsWith(n + '='))) < 2)"
	// +kubebuilder:validation:XValidation:rule="...",message="envs: a NAME may occur once"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Environment"
	Envs []string `json:"envs,omitempty"`

	// ConfigMaps and Secrets of the same namespace whose keys all become environment variables. Those of spec.envs
	// take precedence. At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:XValidation:rule="has(self.configMapRef) != has(self.secretRef)"
	// +kubebuilder:validation:items:XValidation:rule="...",message="envFrom: an item has either configMapRef or secretRef"
	// +kubebuilder:validation:XValidation:rule="self.all(e, (!has(e.prefix) || size(e.prefix) <= 131072)"
	// +kubebuilder:validation:XValidation:rule="... && (!has(e.configMapRef)"
	// +kubebuilder:validation:XValidation:rule="... || !has(e.configMapRef.name) || size(e.configMapRef.name) <= 253)"
	// +kubebuilder:validation:XValidation:rule="... && (!has(e.secretRef) || !has(e.secretRef.name) || size(e.secretRef.name) <= 253))"
	// +kubebuilder:validation:XValidation:rule="...",message="envFrom: a name has at most 253 characters, a prefix at most 131072"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Environment From"
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// Volume for the command to work in. It starts there unless spec.execcwd says otherwise. Default: none.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Workspace Workspace `json:"workspace,omitzero"`

	// CPU and memory of the command, as requests and limits. A change applies from the next attempt on. Default:
	// requests of 10m CPU and 16Mi memory; limits of 1 CPU and 512Mi where a quota of the namespace asks for limits,
	// else none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// Longest time that an attempt may take, such as 1h30m; from 1s to 8760h. It counts from when the node accepts the
	// pod, also while the operator is down. Another attempt follows only if spec.retryPolicy.causes has TimedOut.
	// Default: none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[hms])+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')"
	// +kubebuilder:validation:XValidation:rule="...",message="timeout must be from 1s to 8760h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// How long after the object's creation the command may start, such as 1h30m; from 1s to 8760h. It also counts
	// while the run is suspended. A command that has not started by then is Failed. It can be changed until then.
	// Default: none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[hms])+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')"
	// +kubebuilder:validation:XValidation:rule="...",message="startDeadline must be from 1s to 8760h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Start Deadline"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	StartDeadline *metav1.Duration `json:"startDeadline,omitempty"`

	// How often a failed attempt is followed by another, from 0 to 10. One that was cancelled or lost never is, and
	// one that timed out only if spec.retryPolicy.causes has TimedOut. Default: 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Retries int32 `json:"retries"`

	// Which attempts are followed by another, and when. Default: every failed one, at once.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Retry Policy"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	RetryPolicy RetryPolicy `json:"retryPolicy,omitzero"`

	// Holds back what has not started: the first attempt, or the next one. An attempt that has started continues. It
	// can be undone. Default: false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Suspend bool `json:"suspend,omitempty"`

	// Ends the run: the command gets SIGTERM, and SIGKILL after spec.terminationGracePeriodSeconds. It cannot be
	// undone. Default: false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Cancel bool `json:"cancel,omitempty"`

	// Seconds that the finished Activity is kept before it is deleted, from when its end was noted. Default: for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Seconds Kept When Finished"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// How much of what the command prints is kept in the status.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Output *Output `json:"output,omitempty"`

	// Pod Security level of the pod. Baseline runs any image without letting it gain privileges. Restricted also
	// refuses root, drops all capabilities, and makes all but /tmp read-only. Default: Restricted.
	// +optional
	// +kubebuilder:default=Restricted
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod Security"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Restricted"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Baseline"}
	Security commonv1.SecurityProfile `json:"security,omitempty"`

	commonv1.PodOptions `json:",inline"`
}

// Output says how much of what the command prints is kept.
type Output struct {
	// Bytes at the end of the output that status.outputTail keeps, of its last 1000 lines; from 0 to 32768. 0 keeps
	// none, as output may hold secrets. Default: 4096.
	// +optional
	// +kubebuilder:default=4096
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=32768
	TailBytes *int32 `json:"tailBytes,omitempty"`
}

// The name is bounded so that "<name>-<6 of uid>-<attempt>" is a host name.

// Activity is one command, run once.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=activities,shortName=act,categories=mainstay
// +kubebuilder:printcolumn:name="Prosta",type=string,JSONPath=`.status.prosta`
// +kubebuilder:printcolumn:name="Exit",type=integer,JSONPath=`.status.exitCode`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.nodeName`
// +kubebuilder:printcolumn:name="Duration",type=string,JSONPath=`.status.duration`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 53"
// +kubebuilder:validation:XValidation:rule="...",message="metadata.name becomes part of a pod's name: at most 53 characters"
// +operator-sdk:csv:customresourcedefinitions:displayName="Activity",resources={{Event,v1},{Pod,v1}}
type Activity struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state, which users write.
	Spec ActivitySpec `json:"spec"`
	// Observed state, which only the operator writes.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status ActivityStatus `json:"status,omitempty"`

	commonv1.Reading `json:"-"`
}

// UnmarshalJSON reads what can be read: no object hides the others of its list.
func (a *Activity) UnmarshalJSON(data []byte) error {
	type plain Activity // has not this method
	read, unreadable, err := commonv1.Read[plain](data)
	*a = Activity(read)
	a.Unreadable = unreadable
	return err
}

// GetConditions gives the place where the conditions live.
func (a *Activity) GetConditions() *[]metav1.Condition { return &a.Status.Conditions }

// GetObservedGeneration returns the generation that the status describes; -1 or 0 before the first pass.
func (a *Activity) GetObservedGeneration() int64 { return a.Status.ObservedGeneration }

// SetObservedGeneration notes the generation that the status speaks of.
func (a *Activity) SetObservedGeneration(generation int64) { a.Status.ObservedGeneration = generation }

// ActivityList is a list of Activity.
// +kubebuilder:object:root=true
type ActivityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Activity `json:"items"`
}

func init() { register(&Activity{}, &ActivityList{}) }
