package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// RedisBackupSpec says which Redis is backed up, when, and where to.
type RedisBackupSpec struct {
	// Redis to back up, in the same namespace. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="redisName cannot change; make another RedisBackup"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Redis",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	RedisName string `json:"redisName"`

	commonv1.BackupOptions `json:",inline"`
}

// The name is bounded so that "<name>-<8 digits>" is a host name, and is one folder of the store.

// RedisBackup backs a Redis up, once or by a schedule, and proves each backup by starting a server from it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=redisbackups,shortName=rb,categories=mainstay
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Redis",type=string,JSONPath=`.spec.redisName`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.last.time`
// +kubebuilder:printcolumn:name="Verified",type=date,JSONPath=`.status.lastVerified.time`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.next`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52"
// +kubebuilder:validation:XValidation:rule="... && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')"
// +kubebuilder:validation:XValidation:rule="...",message="metadata.name becomes part of a pod's name:"
// +kubebuilder:validation:XValidation:rule="...",message="at most 52 characters, lower case letters, digits and '-'"
// +operator-sdk:csv:customresourcedefinitions:displayName="Redis Backup",resources={{Event,v1},{Pod,v1}}
type RedisBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state, which users write.
	Spec RedisBackupSpec `json:"spec"`
	// Observed state, which only the operator writes.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status commonv1.BackupStatus `json:"status,omitempty"`

	commonv1.Reading `json:"-"`
}

// UnmarshalJSON reads what can be read: no object hides the others of its list.
func (r *RedisBackup) UnmarshalJSON(data []byte) error {
	type plain RedisBackup // has not this method
	read, unreadable, err := commonv1.Read[plain](data)
	*r = RedisBackup(read)
	r.Unreadable = unreadable
	return err
}

// GetConditions gives the place where the conditions live.
func (r *RedisBackup) GetConditions() *[]metav1.Condition { return &r.Status.Conditions }

// GetObservedGeneration returns the generation that the status describes; -1 or 0 before the first pass.
func (r *RedisBackup) GetObservedGeneration() int64 { return r.Status.ObservedGeneration }

// SetObservedGeneration notes the generation that the status speaks of.
func (r *RedisBackup) SetObservedGeneration(generation int64) {
	r.Status.ObservedGeneration = generation
}

// GetSourceName gives the name of the Redis.
func (r *RedisBackup) GetSourceName() string { return r.Spec.RedisName }

// GetBackupOptions gives what every kind of backup lets its user choose.
func (r *RedisBackup) GetBackupOptions() *commonv1.BackupOptions { return &r.Spec.BackupOptions }

// GetBackupStatus gives what every kind of backup reports.
func (r *RedisBackup) GetBackupStatus() *commonv1.BackupStatus { return &r.Status }

// RedisBackupList is a list of RedisBackups.
// +kubebuilder:object:root=true
type RedisBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RedisBackup `json:"items"`
}

func init() { register(&RedisBackup{}, &RedisBackupList{}) }
