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
	// s3 is a bucket of any server that speaks S3.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="S3"
	S3 *S3Store `json:"s3,omitempty"`

	// volume is a PersistentVolumeClaim of the same namespace. It should be on other disks than the data.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Volume *VolumeStore `json:"volume,omitempty"`
}

// S3Store is a bucket, which must exist.
type S3Store struct {
	// bucket that exists.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`
	Bucket string `json:"bucket"`

	// prefix of all object names, without '/' at its ends. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(part, part == '.' || part == '..')"
	// +kubebuilder:validation:XValidation:rule="...",message="prefix cannot have the part '.' or '..'"
	Prefix string `json:"prefix,omitempty"`

	// endpoint of the server: https://host[:port], or http://host[:port], which sends data in the clear. Default: AWS.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?$`
	Endpoint string `json:"endpoint,omitempty"`

	// region of the bucket. Default us-east-1.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+$`
	Region string `json:"region,omitempty"`

	// secretName names the Secret with the keys accessKeyID and secretAccessKey, and sessionToken if there is one.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// caSecretName names the Secret whose key ca.crt has the authorities that the endpoint's certificate may be of. Default:
	// the public ones.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authority Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	CASecretName string `json:"caSecretName,omitempty"`

	// pathStyle puts the bucket into the path of a URL and not into its host name. Most servers other than AWS need it. Default:
	// true with an endpoint, false without.
	// +optional
	PathStyle *bool `json:"pathStyle,omitempty"`
}

// VolumeStore is a directory on a volume.
type VolumeStore struct {
	// claimName names the PersistentVolumeClaim, in the same namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName"`

	// path of the directory within the volume, without '/' at its ends; it is made if it is missing. Default: the volume's root.
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
	// store where the backups are kept. It cannot change: make another object for another store.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="store cannot change; make another object for another store"
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Store BackupStore `json:"store"`

	// schedule as cron has it, "minute hour day-of-month month day-of-week", or @hourly, @daily, @weekly, @monthly. Default: one
	// backup, now. When clocks are put forward, what would be due in the hour that is left out is due right after it; when they
	// are put back, what is due in the hour that comes twice is due once.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="schedule: set timeZone in place of TZ"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Schedule string `json:"schedule,omitempty"`

	// timeZone of the schedule, by its name in the tz database, such as Europe/Berlin. Default UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	TimeZone string `json:"timeZone,omitempty"`

	// startingDeadline is how late a backup may start, from 1m to 24h; it also bounds for how long a backup that failed is tried
	// again. A later one is missed, which is reported. Default 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}[hms])+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')"
	// +kubebuilder:validation:XValidation:rule="...",message="startingDeadline is a duration from 1m to 24h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	StartingDeadline *metav1.Duration `json:"startingDeadline,omitempty"`

	// retention says which backups are deleted from the store. The last verified one never is, nor any that was made of another
	// object, even one of the same name. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Retention *BackupRetention `json:"retention,omitempty"`

	// suspend keeps new attempts from starting. Scheduled times that pass meanwhile are skipped and do not count as missed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Suspend bool `json:"suspend,omitempty"`

	// verify has each backup read back from the store and a server started from it. Default true.
	// +optional
	// +kubebuilder:default=true
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Verify *bool `json:"verify,omitempty"`

	// compression of the data. Default Gzip.
	// +optional
	// +kubebuilder:default=Gzip
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Gzip"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Compression BackupCompression `json:"compression,omitempty"`

	// imagePullSecrets name Secrets of the same namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(s, !has(s.name) || size(s.name) <= 253)"
	// +kubebuilder:validation:XValidation:rule="...",message="imagePullSecrets: a name has at most 253 characters"
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// resources of each container of the pod that makes the backup. The one that starts a server from it has those of what is
	// backed up, and these only where that names none. Default: requests of 10m CPU and 32Mi, limits of 1 CPU and 96Mi. Below 96Mi the
	// kernel may end it. limits.ephemeral-storage bounds the data on the node's disk. Default: about twice what the data needed last.
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
	// keepLast keeps so many of the newest backups; where backups are verified, so many of the newest verified ones.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	KeepLast *int32 `json:"keepLast,omitempty"`

	// keepFor keeps backups that are no older, at least 1m.
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
	// store where the backup is.
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Store BackupStore `json:"store"`

	// namespace of the object that made the backup. Default: this object's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// name of the EtcdBackup or RedisBackup that made the backup. That object need not exist any more.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// source is the UID of the EtcdCluster or Redis whose backup is meant, as its metadata.uid had it. A backup of another source is
	// refused. Default: the source of the latest backup, as several may have made backups under the same name.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`
	Source string `json:"source,omitempty"`

	// item is the name of one backup, as status.items shows it.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`
	// +kubebuilder:validation:MaxLength=25
	Item string `json:"item,omitempty"`

	// before chooses the latest backup that was started before this time. Default: the latest of all.
	// +optional
	Before *metav1.Time `json:"before,omitempty"`

	// allowUnverified also takes a backup that no server was started from. Default: only verified ones are taken. Together with item,
	// a Redis also loads values that a full check refuses: one that is damaged or forged may crash a server when a client asks for it.
	// +optional
	AllowUnverified bool `json:"allowUnverified,omitempty"`
}
