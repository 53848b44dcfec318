package redis

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// application is the user of the applications: Redis' default, so that a
	// password alone is enough to log in.
	application = "default"

	filesDir = "/etc/redis"
	dataDir  = "/data"
	confKey  = "redis.conf"
	usersKey = "users.acl"
)

// directive is one line of redis.conf.
type directive struct {
	name string
	args []string
}

// fixedDirectives are the directives that no spec changes while a server runs.
func (s spec) fixedDirectives() []directive {
	list := append([]directive{{"bind", []string{"*", "-::*"}}}, s.listenDirectives()...)
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
func (s spec) redisConf(c credentials, accepted settings) string {
	return render(slices.Concat(s.fixedDirectives(), s.rollingDirectives(), accepted.directives(), []directive{
		{"masterauth", []string{c.replication}},
		// Who has no data yet answers nobody, the readiness probe neither.
		{"replica-serve-stale-data", []string{"no"}},
		{"min-replicas-to-write", []string{strconv.Itoa(int(s.MinReplicas))}}}))
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
