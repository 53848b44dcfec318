package redis

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// application is the user of the applications: Redis' default, so that a
	// password alone is enough to log in.
	application = "default"
	// maxSize is the largest size that the API allows.
	maxSize = 9

	filesDir = "/etc/redis"
	dataDir  = "/data"
	confKey  = "redis.conf"
	usersKey = "users.acl"
)

func size(r *cachev1alpha1.Redis) int32 { return ptr.Deref(r.Spec.Size, 3) }

// minReplicas is W as the spec asks for it.
func minReplicas(r *cachev1alpha1.Redis) int32 {
	if d := r.Spec.Durability; d != nil && d.MinReplicasToWrite != nil {
		return *d.MinReplicasToWrite
	}
	return min(1, size(r)-1)
}

// prefersAvailability reports whether the master writes on although replicas are lost.
func prefersAvailability(r *cachev1alpha1.Redis) bool {
	return r.Spec.Durability == nil || r.Spec.Durability.Policy != cachev1alpha1.RedisDurabilityRequired
}

// maxLag is how long a replica may be without an acknowledgement and still count for the master's W
// (min-replicas-max-lag).
func maxLag(r *cachev1alpha1.Redis) time.Duration {
	seconds := int32(3)
	if d := r.Spec.Durability; d != nil {
		seconds = ptr.Deref(d.MaxLagSeconds, seconds)
	}
	return time.Duration(seconds) * time.Second
}

// probeInterval is the time between two questions to a server.
func probeInterval(r *cachev1alpha1.Redis) time.Duration {
	millis := int32(1000)
	if f := r.Spec.Failover; f != nil {
		millis = ptr.Deref(f.ProbeIntervalMillis, millis)
	}
	return time.Duration(millis) * time.Millisecond
}

// silenceLimit is how long a master may be silent before it is taken for lost.
func silenceLimit(r *cachev1alpha1.Redis) time.Duration {
	questions := int32(3)
	if f := r.Spec.Failover; f != nil {
		questions = ptr.Deref(f.FailureThreshold, questions)
	}
	return time.Duration(questions) * probeInterval(r)
}

func persistence(r *cachev1alpha1.Redis) cachev1alpha1.RedisPersistenceMode {
	switch {
	case r.Spec.Persistence != nil && r.Spec.Persistence.Mode != "":
		return r.Spec.Persistence.Mode
	case r.Spec.Storage != nil:
		return cachev1alpha1.RedisPersistAOF
	}
	return cachev1alpha1.RedisPersistNone
}

// directive is one line of redis.conf.
type directive struct {
	name string
	args []string
}

// fixedDirectives are the directives that no spec changes while a server runs.
func fixedDirectives(r *cachev1alpha1.Redis) []directive {
	list := append([]directive{{"bind", []string{"*", "-::*"}}}, listenDirectives(r)...)
	return append(list, []directive{
		{"protected-mode", []string{"no"}},
		{"dir", []string{dataDir}},
		{"aclfile", []string{filesDir + "/" + usersKey}},
		{"tcp-keepalive", []string{"30"}},
		// Born fenced: only the operator makes a master or attaches a replica.
		{"replicaof", []string{wire.FenceHost, "1"}},
		{"masteruser", []string{wire.Replication}},
		{"repl-ping-replica-period", []string{"1"}},
		{"repl-timeout", []string{"15"}},
		{"repl-diskless-sync", []string{"yes"}},
		{"repl-diskless-sync-delay", []string{"0"}},
		// Or a master that was alone for an hour would forget its history.
		{"repl-backlog-ttl", []string{"0"}},
	}...)
}

// redisConf is the server's configuration file. The password and W are set on
// running servers by commands of their own.
func redisConf(r *cachev1alpha1.Redis, c credentials, s settings) string {
	return render(slices.Concat(fixedDirectives(r), rollingDirectives(r), s.directives(), []directive{
		{"masterauth", []string{c.replication}},
		// Who has no data yet answers nobody, the readiness probe neither.
		{"replica-serve-stale-data", []string{"no"}},
		{"min-replicas-to-write", []string{strconv.Itoa(int(minReplicas(r)))}}}))
}

func render(list []directive) string {
	var file strings.Builder
	for _, d := range list {
		file.WriteString(d.name)
		for _, arg := range d.args {
			file.WriteString(" " + quote(arg))
		}
		file.WriteByte('\n')
	}
	return file.String()
}

// quote quotes one argument of any bytes, as redis.conf reads it: every byte beyond plain text is written as an
// escape, so no value ends its line.
func quote(arg string) string {
	var quoted strings.Builder
	quoted.WriteByte('"')
	for _, b := range []byte(arg) {
		switch {
		case b == '"' || b == '\\':
			quoted.WriteString(`\` + string(b))
		case b < ' ' || b > '~':
			fmt.Fprintf(&quoted, `\x%02x`, b)
		default:
			quoted.WriteByte(b)
		}
	}
	quoted.WriteByte('"')
	return quoted.String()
}

// usersACL is the server's user file. Applications may do everything but change
// roles, users and the server; https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/.
func usersACL(c credentials) string {
	return "user " + application + " on " + aclHashes(c.acceptedDigests()) + " ~* &* +@all -@admin\n" +
		"user " + wire.Operator + " on #" + digest(c.operator) + " -@all +ping +info +role +replicaof +multi +exec +discard" +
		" +config|get +config|set +bgsave +client|kill +client|pause +client|unpause +acl|setuser\n" +
		"user " + wire.Probe + " on nopass -@all +ping +role\n" +
		"user " + wire.Replication + " on #" + digest(c.replication) + " -@all +ping +psync +replconf\n"
}

func aclHashes(digests []string) string {
	words := make([]string, 0, len(digests))
	for _, d := range digests {
		words = append(words, "#"+d)
	}
	return strings.Join(words, " ")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
