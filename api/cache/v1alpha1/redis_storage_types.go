package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// RedisStorage is a volume per node.
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName)"
// +kubebuilder:validation:XValidation:rule="... && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)"
// +kubebuilder:validation:XValidation:rule="...",message="storage.storageClassName cannot change"
type RedisStorage struct {
	// Capacity of each node's volume, such as 8Gi; at least 64Mi. It can grow if the storage class allows it, and
	// never shrinks.
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

	// What happens to volumes when this Redis is deleted, or when a lower spec.size removes their nodes: Retain keeps
	// them, Delete deletes them, that of a removed node once all other nodes are in sync. Default: Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volume Retention"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Retain"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Delete"}
	Retention RedisRetention `json:"retention,omitempty"`
}

// RedisRetention is what becomes of volumes that no node needs.
// +kubebuilder:validation:Enum=Retain;Delete
type RedisRetention string

const (
	// RedisRetain keeps them.
	RedisRetain RedisRetention = "Retain"
	// RedisDelete deletes them.
	RedisDelete RedisRetention = "Delete"
)

// RedisPersistence says what a node writes to its storage.
type RedisPersistence struct {
	// How data reaches the disk: AOF by an append-only file, RDB by snapshots, Both, or None. Default: AOF with
	// spec.storage, None without.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Persistence Mode"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:RDB"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:AOF"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Both"}
	Mode RedisPersistenceMode `json:"mode,omitempty"`

	// When the append-only file reaches the disk: always with each write; everysec, so that a node that loses power
	// loses the last second, which its peers still have; no when the kernel decides. Default: everysec.
	// +optional
	// +kubebuilder:default=everysec
	// +kubebuilder:validation:Enum=always;everysec;no
	AppendFsync string `json:"appendfsync,omitempty"`
}

// RedisPersistenceMode is how data reaches the disk.
// +kubebuilder:validation:Enum=None;RDB;AOF;Both
type RedisPersistenceMode string

// Persistence modes.
const (
	RedisPersistNone RedisPersistenceMode = "None"
	RedisPersistRDB  RedisPersistenceMode = "RDB"
	RedisPersistAOF  RedisPersistenceMode = "AOF"
	RedisPersistBoth RedisPersistenceMode = "Both"
)
