package config

import (
	"cmp"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// Spec is what a Redis asks for, where a decision or a file of its servers depends on it, with the defaults set. What
// decides goes by it and not by the API object.
type Spec struct {
	Namespace, Name string

	Flavor cachev1alpha1.RedisFlavor
	// Size is the number of nodes.
	Size int32
	// MinReplicas is W: how many replicas must follow closely for the master to take a write.
	MinReplicas int32
	// PrefersAvailability reports whether the master writes on although replicas are lost.
	PrefersAvailability bool
	// MaxLag is how long a replica may be without an acknowledgement and still count for W (min-replicas-max-lag).
	MaxLag time.Duration
	// ProbeInterval is the time between two questions to a server.
	ProbeInterval time.Duration
	// DeafLimit is how long replicas may hear nothing of a master that answers the operator.
	DeafLimit time.Duration
	// SilenceLimit is how long a master may be silent before it is taken for lost: no less than a script may keep it silent.
	SilenceLimit time.Duration

	Persistence cachev1alpha1.RedisPersistenceMode
	AppendFsync string
	// Directives are the user's, of spec.config.
	Directives map[string]cachev1alpha1.RedisConfigValue
	// MemoryLimit is that of a new pod in bytes, 0 for none.
	MemoryLimit int64
	// MemoryPercent of the limit is for data.
	MemoryPercent int64
	// Storage of each node; nil for none.
	Storage *cachev1alpha1.RedisStorage

	// AuthSecret is the user's Secret with the password of the applications; "" if the operator generates it.
	AuthSecret string
	// TLS reports whether connections are encrypted.
	TLS bool
	// TLSSecret is the user's Secret with the certificate.
	TLSSecret  string
	ClientAuth cachev1alpha1.RedisClientAuth

	// Supervised leaves the master's pod to a human when its template changes.
	Supervised bool
	// Bootstrap is the backup that a Redis without data starts with; nil for none.
	Bootstrap *commonv1.BackupReference
	Hibernate bool
	// SwitchoverTo is the node that a human asks to make master; nil for none.
	SwitchoverTo *string
	// UnsafePromotionEpoch is the epoch, in digits, in which a human allows a promotion that may lose writes.
	UnsafePromotionEpoch string
	// RotationRequest is the value by which a human asks for other passwords of the operator; "" for none.
	RotationRequest string
}

const (
	defaultMaxLagSeconds = 3
	defaultProbeMillis   = 1000
	defaultThreshold     = 3
	// defaultMemoryPercent is the part of the memory limit that is for data.
	defaultMemoryPercent = 75
)

// Resolve sets the defaults, as the API documents them.
func Resolve(r *cachev1alpha1.Redis) Spec {
	given := &r.Spec
	s := Spec{
		Namespace: r.Namespace, Name: r.Name,
		Flavor:        cmp.Or(given.Flavor, cachev1alpha1.FlavorRedis),
		Size:          ptr.Deref(given.Size, cachev1alpha1.RedisDefaultSize),
		Directives:    given.Config,
		MemoryLimit:   parts.Bytes(*given.Resources.Limits.Memory()),
		MemoryPercent: int64(ptr.Deref(given.MaxMemoryPercent, defaultMemoryPercent)),
		Storage:       given.Storage,
		AppendFsync:   "everysec",
		Supervised:    given.Update != nil && given.Update.Strategy == cachev1alpha1.RedisSupervised,
		Hibernate:     given.Hibernate,

		UnsafePromotionEpoch: r.Annotations[cachev1alpha1.RedisAllowUnsafePromotion],
		RotationRequest:      r.Annotations[cachev1alpha1.RedisRotatePasswords],
	}
	if node, asked := r.Annotations[cachev1alpha1.RedisSwitchover]; asked {
		s.SwitchoverTo = &node
	}
	s.setDurability(ptr.Deref(given.Durability, cachev1alpha1.RedisDurability{}))
	s.setFailureDetection(ptr.Deref(given.Failover, cachev1alpha1.RedisFailureDetection{}))
	s.setPersistence(ptr.Deref(given.Persistence, cachev1alpha1.RedisPersistence{}))
	if given.Auth != nil {
		s.AuthSecret = given.Auth.SecretName
	}
	if given.Bootstrap != nil {
		s.Bootstrap = &given.Bootstrap.Backup
	}
	if given.TLS != nil {
		s.TLS, s.TLSSecret, s.ClientAuth = true, given.TLS.SecretName, cmp.Or(given.TLS.ClientAuth, cachev1alpha1.RedisClientAuthNone)
	}
	return s
}

func (s *Spec) setDurability(given cachev1alpha1.RedisDurability) {
	s.MinReplicas = ptr.Deref(given.MinReplicasToWrite, min(1, s.Size-1))
	s.PrefersAvailability = given.Policy != cachev1alpha1.RedisDurabilityRequired
	s.MaxLag = time.Duration(ptr.Deref(given.MaxLagSeconds, defaultMaxLagSeconds)) * time.Second
}

func (s *Spec) setFailureDetection(given cachev1alpha1.RedisFailureDetection) {
	s.ProbeInterval = time.Duration(ptr.Deref(given.ProbeIntervalMillis, defaultProbeMillis)) * time.Millisecond
	s.DeafLimit = time.Duration(ptr.Deref(given.FailureThreshold, defaultThreshold)) * s.ProbeInterval
	s.SilenceLimit = max(s.DeafLimit, s.longestScriptSilence(string(s.Directives[BusyReplyThreshold])))
}

func (s *Spec) setPersistence(given cachev1alpha1.RedisPersistence) {
	s.Persistence, s.AppendFsync = given.Mode, cmp.Or(given.AppendFsync, s.AppendFsync)
	switch {
	case given.Mode != "":
	case s.Storage != nil:
		s.Persistence = cachev1alpha1.RedisPersistAOF
	default:
		s.Persistence = cachev1alpha1.RedisPersistNone
	}
}
