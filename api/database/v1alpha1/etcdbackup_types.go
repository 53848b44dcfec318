package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// EtcdBackupSpec says which EtcdCluster is backed up, when, and where to.
type EtcdBackupSpec struct {
	// EtcdCluster to back up, in the same namespace. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterName cannot change; make another EtcdBackup"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cluster",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ClusterName string `json:"clusterName"`

	commonv1.BackupOptions `json:",inline"`
}

// The name is bounded so that "<name>-<8 digits>" is a host name, and is one folder of the store.

// EtcdBackup backs an EtcdCluster up, once or by a schedule, and proves each backup by starting a server from it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=etcdbackups,shortName=eb,categories=mainstay
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.last.time`
// +kubebuilder:printcolumn:name="Verified",type=date,JSONPath=`.status.lastVerified.time`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.next`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52"
// +kubebuilder:validation:XValidation:rule="... && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')"
// +kubebuilder:validation:XValidation:rule="...",message="metadata.name becomes part of a pod's name:"
// +kubebuilder:validation:XValidation:rule="...",message="at most 52 characters, lower case letters, digits and '-'"
// +operator-sdk:csv:customresourcedefinitions:displayName="Etcd Backup",resources={{Event,v1},{Pod,v1}}
type EtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state, which users write.
	Spec EtcdBackupSpec `json:"spec"`
	// Observed state, which only the operator writes.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status commonv1.BackupStatus `json:"status,omitempty"`

	commonv1.Reading `json:"-"`
}

// UnmarshalJSON reads what can be read: no object hides the others of its list.
func (e *EtcdBackup) UnmarshalJSON(data []byte) error {
	type plain EtcdBackup // has not this method
	read, unreadable, err := commonv1.Read[plain](data)
	*e = EtcdBackup(read)
	e.Unreadable = unreadable
	return err
}

// GetConditions gives the place where the conditions live.
func (e *EtcdBackup) GetConditions() *[]metav1.Condition { return &e.Status.Conditions }

// GetObservedGeneration returns the generation that the status describes; -1 or 0 before the first pass.
func (e *EtcdBackup) GetObservedGeneration() int64 { return e.Status.ObservedGeneration }

// SetObservedGeneration notes the generation that the status speaks of.
func (e *EtcdBackup) SetObservedGeneration(generation int64) {
	e.Status.ObservedGeneration = generation
}

// GetSourceName gives the name of the EtcdCluster.
func (e *EtcdBackup) GetSourceName() string { return e.Spec.ClusterName }

// GetBackupOptions gives what every kind of backup lets its user choose.
func (e *EtcdBackup) GetBackupOptions() *commonv1.BackupOptions { return &e.Spec.BackupOptions }

// GetBackupStatus gives what every kind of backup reports.
func (e *EtcdBackup) GetBackupStatus() *commonv1.BackupStatus { return &e.Status }

// EtcdBackupList is a list of EtcdBackups.
// +kubebuilder:object:root=true
type EtcdBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdBackup `json:"items"`
}

func init() { register(&EtcdBackup{}, &EtcdBackupList{}) }
