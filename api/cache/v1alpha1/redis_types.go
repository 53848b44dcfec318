package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// RedisAllowUnsafePromotion is an annotation: set to the epoch that the status shows, it
// lets a replica become master although confirmed writes may be lost by it.
const RedisAllowUnsafePromotion = "mainstay-operator.io/allow-unsafe-promotion"

// RedisSwitchover is an annotation: the name of the pod that shall be master. It is
// taken off once that pod is master, or when it never can be.
const RedisSwitchover = "mainstay-operator.io/switchover"

// RedisSpec says which Redis is wanted: one master and size-1 replicas.
//
// +kubebuilder:validation:XValidation:rule="!has(self.durability) || !has(self.durability.minReplicasToWrite) || self.durability.minReplicasToWrite < self.size",message="durability.minReplicasToWrite must be smaller than size: the master does not count"
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage)",message="storage cannot be added or dropped later; make a new Redis and move the data"
// +kubebuilder:validation:XValidation:rule="has(self.tls) == has(oldSelf.tls)",message="tls cannot be added or dropped later; make a new Redis and move the data"
// +kubebuilder:validation:XValidation:rule="!has(self.maxMemoryPercent) || (has(self.resources) && has(self.resources.limits) && 'memory' in self.resources.limits)",message="maxMemoryPercent needs resources.limits.memory"
// +kubebuilder:validation:XValidation:rule="!has(self.maxMemoryPercent) || !has(self.config) || !('maxmemory' in self.config)",message="maxMemoryPercent and config.maxmemory say the same thing; set one of them"
// +kubebuilder:validation:XValidation:rule="has(self.storage) || (!has(self.persistence) || !has(self.persistence.mode) || self.persistence.mode == 'None')",message="persistence.mode needs storage: without it a pod's data goes with the pod"
// +kubebuilder:validation:XValidation:rule="!has(self.flavor) || self.flavor != 'Valkey' || !has(self.config) || !('dynamic-hz' in self.config)",message="config: dynamic-hz is not supported with flavor Valkey, which has no such directive"
// +kubebuilder:validation:XValidation:rule="!has(self.hibernate) || !self.hibernate || (has(self.storage) && (!has(self.persistence) || !has(self.persistence.mode) || self.persistence.mode != 'None'))",message="hibernate needs storage and a persistence.mode other than None: the data must outlive the pods"
type RedisSpec struct {
	// flavor of the servers. Default Redis. It cannot change later.
	// +optional
	// +kubebuilder:default=Redis
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="flavor cannot change; make a new Redis and move the data"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Redis","urn:alm:descriptor:com.tectonic.ui:select:Valkey"}
	Flavor RedisFlavor `json:"flavor,omitempty"`

	// size is the number of nodes, the master included. Default 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size *int32 `json:"size,omitempty"`

	// image of the servers. Default: the operator's for the flavor, resolved once and then kept.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Image string `json:"image,omitempty"`

	// storage of each node. Default: none, a node's data goes with its pod.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Storage *RedisStorage `json:"storage,omitempty"`

	// persistence says what a node writes to its storage. It is changed on the running
	// servers; another way of starting, with or without the append-only file, then takes new pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Persistence *RedisPersistence `json:"persistence,omitempty"`

	// durability says when a write counts as safe.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Durability *RedisDurability `json:"durability,omitempty"`

	// failover says when a master that is silent is taken for lost.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Failure Detection",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Failover *RedisFailureDetection `json:"failover,omitempty"`

	// update says how pods are replaced when their template changes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Update *RedisUpdate `json:"update,omitempty"`

	// auth of the applications.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authentication"
	Auth *RedisAuth `json:"auth,omitempty"`

	// tls of applications, replicas and the operator. Default: none, connections
	// are in the clear.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS"
	TLS *RedisTLS `json:"tls,omitempty"`

	// config holds directives of redis.conf, by their names in lower case. Only
	// those that cannot touch replication, persistence, users or files are supported.
	// They are set on the running servers; databases, io-threads and a directive that
	// is taken out take new pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['maxmemory','maxmemory-policy','maxmemory-samples','maxmemory-eviction-tenacity','maxclients','timeout','databases','notify-keyspace-events','slowlog-log-slower-than','slowlog-max-len','latency-monitor-threshold','acllog-max-len','lazyfree-lazy-eviction','lazyfree-lazy-expire','lazyfree-lazy-server-del','lazyfree-lazy-user-del','lazyfree-lazy-user-flush','hash-max-listpack-entries','hash-max-listpack-value','list-max-listpack-size','list-compress-depth','set-max-intset-entries','set-max-listpack-entries','set-max-listpack-value','zset-max-listpack-entries','zset-max-listpack-value','hll-sparse-max-bytes','stream-node-max-bytes','stream-node-max-entries','activerehashing','activedefrag','active-expire-effort','hz','dynamic-hz','io-threads','client-output-buffer-limit','client-query-buffer-limit','proto-max-bulk-len','busy-reply-threshold','tracking-table-max-keys','lfu-log-factor','lfu-decay-time','auto-aof-rewrite-percentage','auto-aof-rewrite-min-size','rdbcompression'])",message="config: a key is not supported; keys are in lower case, and none that touches replication, persistence, users or files"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) > 0 && !self[k].matches('[[:cntrl:]]'))",message="config: a value must not be empty nor hold control characters such as a newline"
	// +kubebuilder:validation:XValidation:rule="!('databases' in self) || self['databases'].matches('^[1-9][0-9]{0,4}$')",message="config: databases is a number from 1 to 99999"
	// +kubebuilder:validation:XValidation:rule="!('io-threads' in self) || self['io-threads'].matches('^([1-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$')",message="config: io-threads is a number from 1 to 128"
	// +kubebuilder:validation:XValidation:rule="!('client-output-buffer-limit' in self) || self['client-output-buffer-limit'].matches('^(normal|pubsub) [0-9]+[kmgb]* [0-9]+[kmgb]* [0-9]+( (normal|pubsub) [0-9]+[kmgb]* [0-9]+[kmgb]* [0-9]+)?$')",message="config: client-output-buffer-limit is '<normal|pubsub> <hard> <soft> <seconds>', once or twice; the replicas' buffer is the operator's"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Directives"
	Config map[string]RedisConfigValue `json:"config,omitempty"`

	// resources of each node.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// maxMemoryPercent of resources.limits.memory is for data; the rest is for
	// buffers and for the copy that saving makes. Default 75 when there is a limit.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=95
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memory for Data in Percent",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MaxMemoryPercent *int32 `json:"maxMemoryPercent,omitempty"`

	// service that applications reach the set by: <name> leads to the master,
	// <name>-replicas to those that follow it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exposure"
	Service RedisService `json:"service,omitzero"`

	// networkPolicy says who may connect to the servers, beside each other and the
	// operator. Default: everybody.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *commonv1.NetworkPolicy `json:"networkPolicy,omitempty"`

	// disruption bounds what evictions may take at once; it counts from size 2 on.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Disruption Budget",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Disruption *commonv1.Disruption `json:"disruption,omitempty"`

	// hibernate ends the writes, then lets all pods go; Services, Secrets and volumes
	// stay. False wakes it with its data. With persistence.mode RDB a pod must be able
	// to save within terminationGracePeriodSeconds.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Hibernate bool `json:"hibernate,omitempty"`

	// paused holds every write of the operator back, failover included. Deletion and status go on.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Paused bool `json:"paused,omitempty"`

	commonv1.PodOptions `json:",inline"`
}

// RedisFlavor is whose server runs.
// +kubebuilder:validation:Enum=Redis;Valkey
type RedisFlavor string

const (
	// FlavorRedis runs redis-server, from Redis 7.2 on.
	FlavorRedis RedisFlavor = "Redis"
	// FlavorValkey runs valkey-server, from Valkey 8.0 on.
	FlavorValkey RedisFlavor = "Valkey"
)

// RedisConfigValue is the value of one directive.
// +kubebuilder:validation:MaxLength=256
type RedisConfigValue string

// RedisStorage is a volume per node.
// +kubebuilder:validation:XValidation:rule="quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0",message="storage.size can only grow"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storage.storageClassName cannot change"
type RedisStorage struct {
	// size of each node's volume, from 64Mi on. It can grow, where the storage class allows it.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Mi')) >= 0",message="storage.size is a quantity from 64Mi on"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volume Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Size resource.Quantity `json:"size"`

	// storageClassName of the volumes. Default: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage Class",xDescriptors={"urn:alm:descriptor:io.kubernetes:StorageClass"}
	StorageClassName *string `json:"storageClassName,omitempty"`

	// retention of the volumes when this object is deleted or scaled in. Default Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volume Retention",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Retain","urn:alm:descriptor:com.tectonic.ui:select:Delete"}
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
	// mode of persistence. Default AOF with storage, None without.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Persistence Mode",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None","urn:alm:descriptor:com.tectonic.ui:select:RDB","urn:alm:descriptor:com.tectonic.ui:select:AOF","urn:alm:descriptor:com.tectonic.ui:select:Both"}
	Mode RedisPersistenceMode `json:"mode,omitempty"`

	// appendfsync of the append-only file. Default everysec: a node that loses
	// power loses the last second, which its peers still have.
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

// RedisDurability says when a write counts as safe.
type RedisDurability struct {
	// minReplicasToWrite is W: the master takes writes only while so many replicas
	// follow closely, and a write confirmed by WAIT of at least W survives the loss
	// of the master. 0 lets the master write alone. Default 1 from size 2 on, else 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas That Confirm a Write",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	MinReplicasToWrite *int32 `json:"minReplicasToWrite,omitempty"`

	// maxLagSeconds without an acknowledgement, and a replica no longer counts for
	// minReplicasToWrite. So long, and a second more, a failover waits for a master that
	// cannot be asked. Default 3.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=60
	MaxLagSeconds *int32 `json:"maxLagSeconds,omitempty"`

	// policy when replicas are lost for good. Default Preferred.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Durability Policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Preferred","urn:alm:descriptor:com.tectonic.ui:select:Required"}
	Policy RedisDurabilityPolicy `json:"policy,omitempty"`
}

// RedisDurabilityPolicy says what becomes of writes while too few replicas exist.
// +kubebuilder:validation:Enum=Preferred;Required
type RedisDurabilityPolicy string

const (
	// RedisDurabilityPreferred : the master writes on with those replicas that are left.
	RedisDurabilityPreferred RedisDurabilityPolicy = "Preferred"
	// RedisDurabilityRequired : writes wait until enough replicas are back.
	RedisDurabilityRequired RedisDurabilityPolicy = "Required"
)

// RedisFailureDetection says when silence counts.
type RedisFailureDetection struct {
	// probeIntervalMillis between two questions to each server, in milliseconds. Default 1000.
	// +optional
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=60000
	ProbeIntervalMillis *int32 `json:"probeIntervalMillis,omitempty"`

	// failureThreshold is how many questions in a row a master leaves unanswered
	// before it is taken for lost. A server whose end is proven is never waited for. Default 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// RedisUpdate says how pods are replaced.
type RedisUpdate struct {
	// strategy: Unsupervised replaces the replicas, hands the master over and replaces
	// it; Supervised leaves the master's pod to a human, who sets the annotation
	// mainstay-operator.io/switchover. Default Unsupervised.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Update Strategy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Unsupervised","urn:alm:descriptor:com.tectonic.ui:select:Supervised","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Strategy RedisUpdateStrategy `json:"strategy,omitempty"`
}

// RedisUpdateStrategy says who moves the master.
// +kubebuilder:validation:Enum=Unsupervised;Supervised
type RedisUpdateStrategy string

const (
	// RedisUnsupervised : the operator hands the master over.
	RedisUnsupervised RedisUpdateStrategy = "Unsupervised"
	// RedisSupervised : a human says when.
	RedisSupervised RedisUpdateStrategy = "Supervised"
)

// RedisAuth says where the applications' password comes from.
type RedisAuth struct {
	// secretName of a Secret whose key "password" holds the applications'
	// password. Applications read it from the Secret <name>-auth, where a change
	// arrives once every node accepts it; the password before is accepted for 5
	// minutes more. Default: one is generated.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Password Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`
}

// RedisTLS is how connections are kept from others' eyes. There is no port without it.
type RedisTLS struct {
	// secretName of a Secret with the keys tls.crt, tls.key and ca.crt, as
	// cert-manager makes them. The certificate names <name>.<namespace>.svc, and
	// <name>-replicas.<namespace>.svc for those who read from the replicas. A change
	// of the Secret is handed to the running servers, which close no connection; when
	// the authority is another one, in steps in which both are trusted.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificate Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// clientAuth: whether applications show a certificate that ca.crt vouches for.
	// With Optional and Required the replicas show theirs to the master, so it must be
	// one for clients, too. It cannot change later. Default None.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="tls.clientAuth cannot change; make a new Redis and move the data"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client Certificates",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None","urn:alm:descriptor:com.tectonic.ui:select:Optional","urn:alm:descriptor:com.tectonic.ui:select:Required"}
	ClientAuth RedisClientAuth `json:"clientAuth,omitempty"`
}

// RedisClientAuth says what applications show.
// +kubebuilder:validation:Enum=None;Optional;Required
type RedisClientAuth string

const (
	// RedisClientAuthNone : nothing but the password.
	RedisClientAuthNone RedisClientAuth = "None"
	// RedisClientAuthOptional : who shows a certificate shows a valid one.
	RedisClientAuthOptional RedisClientAuth = "Optional"
	// RedisClientAuthRequired : everyone shows a valid certificate.
	RedisClientAuthRequired RedisClientAuth = "Required"
)

// RedisService is how the Services <name> and <name>-replicas are reached.
type RedisService struct {
	// type: ClusterIP within the cluster, NodePort on every node, LoadBalancer in
	// front of the nodes. Default ClusterIP.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service Type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:ClusterIP","urn:alm:descriptor:com.tectonic.ui:select:NodePort","urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer"}
	Type corev1.ServiceType `json:"type,omitempty"`

	// annotations of both Services. The operator's own win.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RedisNodeState is what a node is up to.
// +kubebuilder:validation:Enum=Fenced;Syncing;InSync;Master;Loading;Unreachable
type RedisNodeState string

const (
	// RedisFenced : follows nobody and takes no writes; how every server starts.
	RedisFenced RedisNodeState = "Fenced"
	// RedisSyncing : follows the master and has not caught up.
	RedisSyncing RedisNodeState = "Syncing"
	// RedisInSync : follows the master's stream.
	RedisInSync RedisNodeState = "InSync"
	// RedisMaster : takes writes.
	RedisMaster RedisNodeState = "Master"
	// RedisLoading : reads its data from disk.
	RedisLoading RedisNodeState = "Loading"
	// RedisUnreachable : did not answer.
	RedisUnreachable RedisNodeState = "Unreachable"
)

// RedisNode is one node as last seen.
type RedisNode struct {
	// name of the pod.
	Name string `json:"name"`
	// state of the node.
	State RedisNodeState `json:"state"`
	// runID of the server process.
	// +optional
	RunID string `json:"runID,omitempty"`
	// replID of the history that the node's data belongs to.
	// +optional
	ReplID string `json:"replID,omitempty"`
	// version of the server.
	// +optional
	Version string `json:"version,omitempty"`
}

// RedisProcess is one server process: what it is and where it was met.
type RedisProcess struct {
	// name of the pod.
	Name string `json:"name"`
	// podUID of the pod.
	PodUID types.UID `json:"podUID"`
	// address of the pod.
	Address string `json:"address"`
	// runID of the process: a restarted server is another one.
	RunID string `json:"runID"`
}

// RedisReplication is what a failover must know, saved before each step that
// it is needed for.
type RedisReplication struct {
	// epoch that these facts belong to. Behind status.epoch while a promotion is under way.
	Epoch int64 `json:"epoch"`
	// replID of the master's history. Offsets compare only within one.
	ReplID string `json:"replID"`
	// master is the process that takes writes.
	Master RedisProcess `json:"master"`
	// syncSet are the processes that may have confirmed a write, sorted by name.
	// +listType=map
	// +listMapKey=name
	SyncSet []RedisProcess `json:"syncSet"`
	// effectiveMinReplicas is the W that the master's writes were taken under.
	EffectiveMinReplicas int32 `json:"effectiveMinReplicas"`
}

// RedisFailover records the last change of the master.
type RedisFailover struct {
	// epoch that it began.
	Epoch int64 `json:"epoch"`
	// from is the master before, empty for the first.
	// +optional
	From string `json:"from,omitempty"`
	// fromPodUID is its pod's.
	// +optional
	FromPodUID types.UID `json:"fromPodUID,omitempty"`
	// to is the master since.
	To string `json:"to"`
	// reason for the change.
	Reason string `json:"reason"`
	// evidence that the old master takes no writes.
	// +optional
	Evidence string `json:"evidence,omitempty"`
	// detectedAt, when the operator began to act.
	DetectedAt metav1.MicroTime `json:"detectedAt"`
	// promotedAt, when the new master was made.
	// +optional
	PromotedAt *metav1.MicroTime `json:"promotedAt,omitempty"`
	// routedAt, when the Service was pointed at it.
	// +optional
	RoutedAt *metav1.MicroTime `json:"routedAt,omitempty"`
	// unsafe is true when it was forced by annotation.
	// +optional
	Unsafe bool `json:"unsafe,omitempty"`
}

// RedisBinding names the Secret that an application needs (servicebinding.io).
type RedisBinding struct {
	// name of the Secret: type, username, password, host, port, uri; with tls also ssl and ca.crt.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Application Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	Name string `json:"name"`
}

// RedisStatus says what was observed.
type RedisStatus struct {
	// observedGeneration is the generation of this object that the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// master is the pod that takes writes, or took the last; the Service <name> points at it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Master string `json:"master,omitempty"`

	// targetMaster is the pod that is to take writes; differs from master during a change.
	// +optional
	TargetMaster string `json:"targetMaster,omitempty"`

	// epoch counts the masters. It rises before each promotion.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Epoch int64 `json:"epoch,omitempty"`

	// replicas that exist, the master included.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas are the master and the replicas in sync.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready Nodes"
	ReadyReplicas int32 `json:"readyReplicas"`

	// selector of the pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// endpoint is host:port of the Service that points at the master.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Endpoint string `json:"endpoint,omitempty"`

	// readEndpoint is host:port of the Service in front of the replicas.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Read Endpoint",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	ReadEndpoint string `json:"readEndpoint,omitempty"`

	// binding names the Secret that an application needs.
	// +optional
	Binding *RedisBinding `json:"binding,omitempty"`

	// nodes as last seen, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Nodes []RedisNode `json:"nodes"`

	// replication is what a failover must know.
	// +optional
	Replication *RedisReplication `json:"replication,omitempty"`

	// lastFailover records the last change of the master.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last Failover"
	LastFailover *RedisFailover `json:"lastFailover,omitempty"`

	// conditions: Ready, Available, Progressing, Degraded, FailoverPossible, CredentialsInSync, SettingsInSync, StorageResizing, CertificatesInSync (with tls), Paused, UpdateAvailable.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The name is bounded so that "<name>-headless" is a valid Service name and a
// pod's controller-revision label fits.

// Redis is a master and its replicas that lose no confirmed write.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=redis,shortName=rd,categories=mainstay
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Master",type=string,JSONPath=`.status.master`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.auth) || !(self.spec.auth.secretName in [self.metadata.name + '-auth', self.metadata.name + '-system', self.metadata.name + '-files', self.metadata.name + '-certificates'])",message="auth.secretName names a Secret that the operator writes itself; choose another name"
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.tls) || !(self.spec.tls.secretName in [self.metadata.name + '-auth', self.metadata.name + '-system', self.metadata.name + '-files', self.metadata.name + '-certificates'])",message="tls.secretName names a Secret that the operator writes itself; choose another name"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 48 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name becomes the name of Services: at most 48 characters, lower case letters, digits and '-', beginning with a letter"
// +operator-sdk:csv:customresourcedefinitions:displayName="Redis",resources={{Event,v1},{PersistentVolumeClaim,v1},{Pod,v1},{PodDisruptionBudget,v1},{Secret,v1},{Service,v1},{StatefulSet,v1}}
type Redis struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	// +kubebuilder:default={}
	Spec RedisSpec `json:"spec,omitempty"`
	// +optional
	Status RedisStatus `json:"status,omitempty"`
}

// GetConditions gives the place where the conditions live.
func (r *Redis) GetConditions() *[]metav1.Condition { return &r.Status.Conditions }

// SetObservedGeneration notes the generation that the status speaks of.
func (r *Redis) SetObservedGeneration(generation int64) { r.Status.ObservedGeneration = generation }

// RedisList is a list of Redis.
// +kubebuilder:object:root=true
type RedisList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Redis `json:"items"`
}

func init() { register(&Redis{}, &RedisList{}) }
