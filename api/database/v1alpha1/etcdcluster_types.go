package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// EtcdAllowUnsafeRecovery is an annotation: set to the token that the status shows, it lets the cluster continue from the data of
// one member although a majority has lost theirs. Confirmed writes may be lost by it.
const EtcdAllowUnsafeRecovery = "mainstay-operator.io/allow-unsafe-recovery"

// EtcdClusterSpec says which etcd is wanted.
//
// +kubebuilder:validation:XValidation:rule="!has(self.image) || has(self.version)"
// +kubebuilder:validation:XValidation:rule="...",message="image needs version, which says what the image holds"
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage)"
// +kubebuilder:validation:XValidation:rule="...",message="storage cannot be added or dropped later;"
// +kubebuilder:validation:XValidation:rule="...",message="make a new EtcdCluster and move the data"
// +kubebuilder:validation:XValidation:rule="has(self.tls) == has(oldSelf.tls)"
// +kubebuilder:validation:XValidation:rule="...",message="tls cannot be added or dropped later; make a new EtcdCluster and move the data"
// +kubebuilder:validation:XValidation:rule="has(self.bootstrap) == has(oldSelf.bootstrap)"
// +kubebuilder:validation:XValidation:rule="... && (!has(self.bootstrap) || self.bootstrap == oldSelf.bootstrap)"
// +kubebuilder:validation:XValidation:rule="...",message="bootstrap cannot change: it says what the cluster started with;"
// +kubebuilder:validation:XValidation:rule="...",message="make a new EtcdCluster"
// +kubebuilder:validation:XValidation:rule="has(self.auth) == has(oldSelf.auth)"
// +kubebuilder:validation:XValidation:rule="...",message="auth cannot be added or dropped later; make a new EtcdCluster and move the data"
// +kubebuilder:validation:XValidation:rule="!has(self.quota) || !has(self.storage) || string(self.quota).matches('[eE].{4}|.{33}')"
// +kubebuilder:validation:XValidation:rule="... || string(self.storage.size).matches('[eE].{4}|.{33}')"
// +kubebuilder:validation:XValidation:rule="... || quantity(string(self.quota)).compareTo(quantity(string(self.storage.size))) <= 0"
// +kubebuilder:validation:XValidation:rule="...",message="quota cannot be more than storage.size:"
// +kubebuilder:validation:XValidation:rule="...",message="the volume would be full before etcd refuses writes"
type EtcdClusterSpec struct {
	// Number of members: 1, 3 or 5. Of 3 one may be lost, of 5 two, of 1 none. Members are added and removed one at a
	// time; the others' pods stay. Default: 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:XValidation:rule="self in [1, 3, 5]"
	// +kubebuilder:validation:XValidation:rule="...",message="size must be 1, 3 or 5:"
	// +kubebuilder:validation:XValidation:rule="...",message="an even number of members survives no more failures than one member less"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// Release of etcd: a minor version such as "3.6", whose newest patch is chosen once and then kept, or an exact one
	// such as "3.6.16", from 3.5.26 on. Raising it upgrades the members one at a time. Default: the newest minor
	// version when the object was made; it then stays.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^3[.](5|6|7)([.](0|[1-9][0-9]{0,2}))?$')"
	// +kubebuilder:validation:XValidation:rule="...",message="version must be a minor version from \"3.5\" to \"3.7\","
	// +kubebuilder:validation:XValidation:rule="...",message="or an exact one such as \"3.6.16\""
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Version string `json:"version,omitempty"`

	// Container image of the members. It must hold the version that the spec names, so change both together, one minor
	// version at a time. A change replaces the pods. Default: the operator's choice for each version, which stays
	// while the version does.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Image string `json:"image,omitempty"`

	// Volume of each member. It cannot be added or dropped later. Default: none, a member's data is lost with its pod,
	// and a new member replaces it; if a majority of the pods goes at once, all data is lost.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Storage *EtcdStorage `json:"storage,omitempty"`

	// Most data that a member stores before it refuses writes, such as 2Gi; from 16Mi to 8Gi, and at most
	// spec.storage.size. A change replaces the pods. Default: half of spec.storage.size, at most 2Gi; without
	// spec.storage 2Gi, or less if a limit of ephemeral-storage leaves less room.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE].{4}|.{33}')"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).compareTo(quantity('16Mi')) >= 0"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).compareTo(quantity('8Gi')) <= 0"
	// +kubebuilder:validation:XValidation:rule="...",message="quota is a quantity from 16Mi to 8Gi"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Data Quota",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Quota *resource.Quantity `json:"quota,omitempty"`

	// When etcd drops old revisions. A change replaces the pods. Default: never; clients compact, as kube-apiserver
	// does.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	AutoCompaction *EtcdAutoCompaction `json:"autoCompaction,omitempty"`

	// When members give free pages of their database back to the disk. A change replaces no pod. Default: only to get
	// below the quota.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Defragmentation"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Defrag *EtcdDefrag `json:"defrag,omitempty"`

	// What a new EtcdCluster starts with. It cannot be changed. Default: no data.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Bootstrap *EtcdBootstrap `json:"bootstrap,omitempty"`

	// Encryption of the connections of clients. It cannot be added or dropped later. The members use TLS with each
	// other in any case. Default: none, data is sent unencrypted.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS"
	TLS *EtcdTLS `json:"tls,omitempty"`

	// Password with which applications log in. It cannot be added or dropped later. Default: none, any client that can
	// connect can read, write and change members.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authentication"
	Auth *EtcdAuth `json:"auth,omitempty"`

	// How Prometheus finds the members' metrics. Each member serves them at port 2381, path /metrics, in any case; the
	// Service <name>-headless offers them as port metrics. A change replaces no pod. Default: not at all.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Metrics *EtcdMetrics `json:"metrics,omitempty"`

	// CPU and memory of each member, as requests and limits. A change replaces the pods. Default: requests of 50m CPU
	// and 64Mi memory, no limits.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// Who may connect to the pods, where the cluster's network enforces it. The members and the operator may in any
	// case. A change replaces no pod. Default: every client that can reach them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *commonv1.NetworkPolicy `json:"networkPolicy,omitempty"`

	// Stops every change by the operator, the replacement of members included. Deletion and status continue. Default:
	// false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Paused bool `json:"paused,omitempty"`

	commonv1.PodOptions `json:",inline"`
}

// EtcdStorage is a volume per member.
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName)"
// +kubebuilder:validation:XValidation:rule="... && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)"
// +kubebuilder:validation:XValidation:rule="...",message="storage.storageClassName cannot change"
type EtcdStorage struct {
	// Capacity of each member's volume, such as 8Gi; at least 64Mi. It should be twice spec.quota or more, as a
	// defragmentation writes all data again before it drops the former. It can grow if the storage class allows it,
	// and never shrinks.
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE].{4}|.{33}')"
	// +kubebuilder:validation:XValidation:rule="... && quantity(string(self)).compareTo(quantity('64Mi')) >= 0"
	// +kubebuilder:validation:XValidation:rule="...",message="storage.size is a quantity from 64Mi on"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volume Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Size resource.Quantity `json:"size"`

	// StorageClass of the volumes. Default: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage Class"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:StorageClass"}
	StorageClassName *string `json:"storageClassName,omitempty"`

	// What happens to volumes when this EtcdCluster is deleted, or when a lower spec.size removes their members:
	// Retain keeps them, Delete deletes them, that of a removed member once etcd has removed it. Default: Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volume Retention"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Retain"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Delete"}
	Retention EtcdRetention `json:"retention,omitempty"`
}

// EtcdRetention is what becomes of volumes that no member needs.
// +kubebuilder:validation:Enum=Retain;Delete
type EtcdRetention string

const (
	// EtcdRetain keeps them.
	EtcdRetain EtcdRetention = "Retain"
	// EtcdDelete deletes them.
	EtcdDelete EtcdRetention = "Delete"
)

// EtcdDefrag says when members are defragmented: one at a time, the leader last, while nothing else is under way. A member
// does not answer meanwhile.
type EtcdDefrag struct {
	// Percentage of free pages, from 10 to 95, from which on a database of 16Mi or more is defragmented.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=95
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Free Pages in Percent"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Threshold int32 `json:"threshold"`
}

// EtcdMetrics is how Prometheus learns of the members.
type EtcdMetrics struct {
	// How the Prometheus operator, which the cluster must have, scrapes the metrics. With spec.networkPolicy, clients
	// that it admits reach the metrics, too.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service Monitor"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ServiceMonitor commonv1.ServiceMonitor `json:"serviceMonitor"`
}

// EtcdAutoCompaction says when etcd drops old revisions.
// +kubebuilder:validation:XValidation:rule="self.mode == 'Periodic' ? self.retention.matches('^[1-9][0-9]{0,4}(s|m|h)$')"
// +kubebuilder:validation:XValidation:rule="... : self.retention.matches('^[1-9][0-9]{0,8}$')"
// +kubebuilder:validation:XValidation:rule="...",message="autoCompaction.retention is a time such as 5m or 1h with mode Periodic,"
// +kubebuilder:validation:XValidation:rule="...",message="and a number such as 10000 with mode Revision"
type EtcdAutoCompaction struct {
	// What spec.autoCompaction.retention counts: with Periodic time, with Revision revisions.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Periodic"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Revision"}
	Mode EtcdCompactionMode `json:"mode"`

	// How much history is kept: with Periodic a time such as 5m or 1h, with Revision a number of revisions such as
	// 10000.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Retention string `json:"retention"`
}

// EtcdCompactionMode is what counts how old a revision is.
// +kubebuilder:validation:Enum=Periodic;Revision
type EtcdCompactionMode string

const (
	// EtcdPeriodic counts time.
	EtcdPeriodic EtcdCompactionMode = "Periodic"
	// EtcdRevision counts revisions.
	EtcdRevision EtcdCompactionMode = "Revision"
)

// The name is bounded so that "<name>-headless" is a valid Service name and a pod's controller-revision label fits.

// EtcdCluster is an etcd that grows, heals and upgrades itself.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=etcdclusters,shortName=etcd,categories=mainstay
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Healthy",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Leader",type=string,JSONPath=`.status.leader`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 48 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
// +kubebuilder:validation:XValidation:rule="...",message="metadata.name becomes the name of Services: at most 48 characters,"
// +kubebuilder:validation:XValidation:rule="...",message="lower case letters, digits and '-', starting with a letter"
// +kubebuilder:validation:XValidation:rule="built: etcdcluster.tls"
// +kubebuilder:validation:XValidation:rule="...",message="tls.secretName names a Secret that the operator writes itself;"
// +kubebuilder:validation:XValidation:rule="...",message="choose another name"
// +kubebuilder:validation:XValidation:rule="built: etcdcluster.auth"
// +kubebuilder:validation:XValidation:rule="...",message="auth.secretName names a Secret that the operator writes itself;"
// +kubebuilder:validation:XValidation:rule="...",message="choose another name"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.version) || !has(self.status) || !has(self.status.targetVersion)"
// +kubebuilder:validation:XValidation:rule="... || has(oldSelf.spec.version) && oldSelf.spec.version == self.spec.version"
// +kubebuilder:validation:XValidation:rule="... || self.spec.version.split('.')[1] >= self.status.targetVersion.split('.')[1]"
// +kubebuilder:validation:XValidation:rule="... || int(self.spec.version.split('.')[1]) + 1 =="
// +kubebuilder:validation:XValidation:rule="... int(self.status.targetVersion.split('.')[1])"
// +kubebuilder:validation:XValidation:rule="... && (!has(self.status.clusterVersion)"
// +kubebuilder:validation:XValidation:rule="... || self.spec.version.split('.')[1] >= self.status.clusterVersion.split('.')[1])"
// +kubebuilder:validation:XValidation:rule="...",fieldPath=".spec.version"
// +kubebuilder:validation:XValidation:rule="...",message="version cannot be of an earlier minor version than status.targetVersion,"
// +kubebuilder:validation:XValidation:rule="...",message="except the one before it while status.clusterVersion is no later than that:"
// +kubebuilder:validation:XValidation:rule="...",message="etcd cannot read data that a later one has written;"
// +kubebuilder:validation:XValidation:rule="...",message="restore a backup into a new EtcdCluster"
// +operator-sdk:csv:customresourcedefinitions:displayName="Etcd Cluster"
// +operator-sdk:csv:customresourcedefinitions:resources={{Event,v1},{NetworkPolicy,v1},{PersistentVolumeClaim,v1},{Pod,v1}}
// +operator-sdk:csv:customresourcedefinitions:resources={{PodDisruptionBudget,v1},{Secret,v1},{Service,v1},{ServiceMonitor,v1}}
// +operator-sdk:csv:customresourcedefinitions:resources={{StatefulSet,v1}}
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state, which users write.
	// +optional
	// +kubebuilder:default={}
	Spec EtcdClusterSpec `json:"spec,omitempty"`
	// Observed state, which only the operator writes.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status EtcdClusterStatus `json:"status,omitempty"`

	commonv1.Reading `json:"-"`
}

// UnmarshalJSON reads what can be read: no object hides the others of its list.
func (e *EtcdCluster) UnmarshalJSON(data []byte) error {
	type plain EtcdCluster // has not this method
	read, unreadable, err := commonv1.Read[plain](data)
	*e = EtcdCluster(read)
	e.Unreadable = unreadable
	return err
}

// GetConditions gives the place where the conditions live.
func (e *EtcdCluster) GetConditions() *[]metav1.Condition { return &e.Status.Conditions }

// GetObservedGeneration returns the generation that the status describes; -1 or 0 before the first pass.
func (e *EtcdCluster) GetObservedGeneration() int64 { return e.Status.ObservedGeneration }

// SetObservedGeneration notes the generation that the status speaks of.
func (e *EtcdCluster) SetObservedGeneration(generation int64) {
	e.Status.ObservedGeneration = generation
}

// EtcdClusterList is a list of EtcdClusters.
// +kubebuilder:object:root=true
type EtcdClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdCluster `json:"items"`
}

func init() { register(&EtcdCluster{}, &EtcdClusterList{}) }
