package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AllowRetention is an annotation of an EtcdBackup or RedisBackup: the name of a backup in its store. Retention, which is held after data
// was lost, accepts what the data was up to that backup, and continues.
const AllowRetention = "mainstay-operator.io/allow-retention"

// BackupStore is where backups are kept: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="has(self.s3) != has(self.volume)"
// +kubebuilder:validation:XValidation:rule="...",message="store is either s3 or volume: set exactly one of them"
type BackupStore struct {
	// Bucket of any server that speaks S3.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="S3"
	S3 *S3Store `json:"s3,omitempty"`

	// PersistentVolumeClaim of the same namespace. It should be on other disks than the data.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Volume *VolumeStore `json:"volume,omitempty"`
}

// S3Store is a bucket, which must exist.
type S3Store struct {
	// Name of a bucket that exists; the operator does not create it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`
	Bucket string `json:"bucket"`

	// Folder within the bucket, such as prod/etcd, without / at its ends. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(part, part == '.' || part == '..')"
	// +kubebuilder:validation:XValidation:rule="...",message="prefix cannot have the part '.' or '..'"
	Prefix string `json:"prefix,omitempty"`

	// URL of the server, such as https://s3.example.org:9000. With http:// data is sent unencrypted. Default: AWS.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?$`
	Endpoint string `json:"endpoint,omitempty"`

	// Where the bucket is, such as eu-central-1. Default: us-east-1.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+$`
	Region string `json:"region,omitempty"`

	// Secret in the same namespace with the keys accessKeyID and secretAccessKey, and sessionToken if there is one.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// Secret in the same namespace whose key ca.crt has the CAs that may have issued the server's certificate.
	// Default: the public CAs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authority Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	CASecretName string `json:"caSecretName,omitempty"`

	// Puts the bucket into the path of URLs instead of their host name. Most servers other than AWS need it. Default:
	// true with an endpoint, false without.
	// +optional
	PathStyle *bool `json:"pathStyle,omitempty"`
}

// VolumeStore is a directory on a volume.
type VolumeStore struct {
	// PersistentVolumeClaim of the same namespace that holds the backups.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName"`

	// Directory within the volume, such as prod/etcd, without / at its ends. It is made if it is missing. Default: the
	// volume's root.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(part, part == '.' || part == '..')"
	// +kubebuilder:validation:XValidation:rule="...",message="path cannot have the part '.' or '..'"
	Path string `json:"path,omitempty"`
}

// BackupOptions are what every kind of backup lets its user choose.
//
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.schedule)",message="timeZone needs schedule"
// +kubebuilder:validation:XValidation:rule="has(self.schedule) == has(oldSelf.schedule)"
// +kubebuilder:validation:XValidation:rule="...",message="schedule cannot be added or dropped later; make another object"
type BackupOptions struct {
	// Where the backups are kept: in a bucket or on a volume. It cannot be changed; make another object for another
	// store.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="store cannot change; make another object for another store"
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Store BackupStore `json:"store"`

	// When backups are due, as in cron: minute, hour, day of month, month, day of week. 30 2 * * * is 02:30 each day.
	// Or @hourly, @daily, @weekly, @monthly. Default: one backup, now.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="schedule: set timeZone in place of TZ"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Schedule string `json:"schedule,omitempty"`

	// Zone of the schedule, by its name in the tz database, such as Europe/Berlin. Default: UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	TimeZone string `json:"timeZone,omitempty"`

	// How late a backup may start, and for how long a failed one is tried again, from 1m to 24h. A later one is
	// missed, which is reported. Default: 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[hms])+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')"
	// +kubebuilder:validation:XValidation:rule="...",message="startingDeadline is a duration from 1m to 24h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	StartingDeadline *metav1.Duration `json:"startingDeadline,omitempty"`

	// Which backups are kept in the store; the others are deleted. The last verified one always stays, and so does any
	// that was made of another object, even one of the same name. Default: all are kept.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Retention *BackupRetention `json:"retention,omitempty"`

	// Holds back new attempts. Backups that become due meanwhile are skipped and do not count as missed. Default:
	// false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Suspend bool `json:"suspend,omitempty"`

	// Reads each backup back from the store and starts a server from it. Default: true.
	// +optional
	// +kubebuilder:default=true
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Verify *bool `json:"verify,omitempty"`

	// How the data is compressed: Gzip or None. Default: Gzip.
	// +optional
	// +kubebuilder:default=Gzip
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Gzip"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Compression BackupCompression `json:"compression,omitempty"`

	// Secrets of the same namespace with which the nodes pull the images. At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(s, !has(s.name) || size(s.name) <= 253)"
	// +kubebuilder:validation:XValidation:rule="...",message="imagePullSecrets: a name has at most 253 characters"
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// CPU and memory of each container that makes the backup, as requests and limits; below 96Mi it may be killed.
	// limits.ephemeral-storage bounds the data on the node's disk. Default: requests of 10m CPU and 32Mi, limits of 1
	// CPU, 96Mi, and about twice the disk that was needed last.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	Scheduling `json:",inline"`
}

// BackupCompression is how data is compressed in the store.
// +kubebuilder:validation:Enum=Gzip;None
type BackupCompression string

const (
	// CompressGzip makes gzip files.
	CompressGzip BackupCompression = "Gzip"
	// CompressNone stores the data as it is.
	CompressNone BackupCompression = "None"
)

// BackupRetention says which backups are kept; one that either field keeps is kept. The last verified one is never deleted, nor any
// that was made of another object, even one of the same name.
// +kubebuilder:validation:XValidation:rule="has(self.keepLast) || has(self.keepFor)",message="retention needs keepLast or keepFor"
type BackupRetention struct {
	// How many of the newest backups are kept, from 1 to 10000; with spec.verify, of the newest verified ones.
	// Default: none for its number.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	KeepLast *int32 `json:"keepLast,omitempty"`

	// Age up to which backups are kept, such as 720h; at least 1m. Default: none for its age.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[hms])+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m')",message="retention.keepFor is a duration from 1m on"
	KeepFor *metav1.Duration `json:"keepFor,omitempty"`
}

// BackupReference names one backup in a store.
//
// +kubebuilder:validation:XValidation:rule="!has(self.item) || !has(self.before)"
// +kubebuilder:validation:XValidation:rule="...",message="item and before each choose a backup: set at most one of them"
type BackupReference struct {
	// Where the backup is: in a bucket or on a volume.
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Store BackupStore `json:"store"`

	// Where the object that made the backup was, if in another namespace than this object. Default: this object's
	// namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// EtcdBackup or RedisBackup that made the backup. It need not exist any more.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// The metadata.uid of the EtcdCluster or Redis whose backup is meant. A backup of another one is refused. Default:
	// that of the latest backup, as several may have made backups under the same name.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`
	Source string `json:"source,omitempty"`

	// Name of one backup, such as 20260102T013000Z-89abcdef, as status.items of the EtcdBackup or RedisBackup has it.
	// Default: the latest one.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`
	// +kubebuilder:validation:MaxLength=25
	Item string `json:"item,omitempty"`

	// Chooses the latest backup that was started before this time, such as 2026-01-02T03:00:00Z. Default: the latest
	// of all.
	// +optional
	Before *metav1.Time `json:"before,omitempty"`

	// Also accepts a backup that no server was started from. With a named backup, a Redis also loads values that a
	// full check refuses: one that is damaged or forged may crash a server when a client asks for it. Default: false.
	// +optional
	AllowUnverified bool `json:"allowUnverified,omitempty"`
}
