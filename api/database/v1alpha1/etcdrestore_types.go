package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// EtcdRestoreSpec says which backup takes the place of an EtcdCluster's data.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an EtcdRestore cannot change; make another one"
type EtcdRestoreSpec struct {
	// EtcdCluster whose data is replaced, in the same namespace. It keeps its name, Service and certificates.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Etcd Cluster"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ClusterName string `json:"clusterName"`

	// Which backup takes the place of the data. It is fetched and checked before any member is stopped.
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Backup commonv1.BackupReference `json:"backup"`

	// How long after its creation the restore may start, from 1m to 24h. One that has not started by then fails, so
	// that a forgotten one never runs. Default: 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[hms])+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')"
	// +kubebuilder:validation:XValidation:rule="...",message="startingDeadline is a duration from 1m to 24h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	StartingDeadline *metav1.Duration `json:"startingDeadline,omitempty"`
}

// EtcdRestoreStatus says how far the restore is.
type EtcdRestoreStatus struct {
	// The metadata.generation that this status describes. While it is lower than the object's, the status is out of
	// date.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Name of the backup that takes the place of the data, once the restore has started.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Item string `json:"item,omitempty"`

	// When the first member ran with the backup.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// State of the object, with reasons: Progressing and Reconciling; in the end Complete, or Failed and Stalled. One
	// that has ended never runs again.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// EtcdRestore puts a backup in the place of an EtcdCluster's data, once.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=etcdrestores,categories=mainstay
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Item",type=string,JSONPath=`.status.item`
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`
// +kubebuilder:printcolumn:name="Failed",type=string,JSONPath=`.status.conditions[?(@.type=="Failed")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Progressing")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name has at most 63 characters"
// +operator-sdk:csv:customresourcedefinitions:displayName="Etcd Restore",resources={{Event,v1},{Pod,v1}}
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state, which users write.
	Spec EtcdRestoreSpec `json:"spec"`
	// Observed state, which only the operator writes.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status EtcdRestoreStatus `json:"status,omitempty"`

	commonv1.Reading `json:"-"`
}

// UnmarshalJSON reads what can be read: no object hides the others of its list.
func (e *EtcdRestore) UnmarshalJSON(data []byte) error {
	type plain EtcdRestore // has not this method
	read, unreadable, err := commonv1.Read[plain](data)
	*e = EtcdRestore(read)
	e.Unreadable = unreadable
	return err
}

// GetConditions gives the place where the conditions live.
func (e *EtcdRestore) GetConditions() *[]metav1.Condition { return &e.Status.Conditions }

// GetObservedGeneration returns the generation that the status describes; -1 or 0 before the first pass.
func (e *EtcdRestore) GetObservedGeneration() int64 { return e.Status.ObservedGeneration }

// SetObservedGeneration notes the generation that the status speaks of.
func (e *EtcdRestore) SetObservedGeneration(generation int64) {
	e.Status.ObservedGeneration = generation
}

// EtcdRestoreList is a list of EtcdRestores.
// +kubebuilder:object:root=true
type EtcdRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdRestore `json:"items"`
}

const (
	// defaultStartingDeadline is the default of spec.startingDeadline.
	defaultStartingDeadline = time.Hour
	// deadlineMargin is longer than the EtcdCluster's controller takes from its look at the clock to the saved record.
	deadlineMargin = 10 * time.Second
)

// StartingDeadline is how long after its creation the restore may start.
func (e *EtcdRestore) StartingDeadline() time.Duration {
	if d := e.Spec.StartingDeadline; d != nil {
		return d.Duration
	}
	return defaultStartingDeadline
}

// StartsBefore is the time from which on the EtcdCluster's controller does not start the restore any more.
func (e *EtcdRestore) StartsBefore() time.Time {
	return e.CreationTimestamp.Add(e.StartingDeadline() - deadlineMargin)
}

// FailsAfter is the time from which on a restore that has not started has failed. It is later than StartsBefore, as what was started just
// before that is saved a little later.
func (e *EtcdRestore) FailsAfter() time.Time {
	return e.CreationTimestamp.Add(e.StartingDeadline() + deadlineMargin)
}

// HasEnded reports whether the restore is complete or has failed: it never runs again.
func (e *EtcdRestore) HasEnded() bool {
	return meta.IsStatusConditionTrue(e.Status.Conditions, commonv1.ConditionComplete) ||
		meta.IsStatusConditionTrue(e.Status.Conditions, commonv1.ConditionFailed)
}

func init() { register(&EtcdRestore{}, &EtcdRestoreList{}) }
