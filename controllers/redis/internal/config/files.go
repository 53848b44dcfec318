package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// Application is the user of the applications: Redis' default, so that a
	// password alone is enough to log in.
	Application = "default"

	// FilesDir is where a server finds its files.
	FilesDir = "/etc/redis"
	// DataDir is where a server keeps its data.
	DataDir = "/data"
	// ConfKey is the name of the configuration file.
	ConfKey = "redis.conf"
	// UsersKey is the name of the users' file.
	UsersKey = "users.acl"
)

// directive is one line of redis.conf.
type directive struct {
	name string
	args []string
}

// fixedDirectives are the directives that no spec changes while a server runs.
func (s Spec) fixedDirectives() []directive {
	list := append([]directive{{"bind", []string{"*", "-::*"}}}, s.listenDirectives()...)
	return append(list, []directive{
		{"protected-mode", []string{"no"}},
		{"dir", []string{DataDir}},
		{"aclfile", []string{FilesDir + "/" + UsersKey}},
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

// RedisConf is the server's configuration file. The password and W are set on
// running servers by commands of their own.
func (s Spec) RedisConf(c Credentials, accepted Settings) string {
	return render(slices.Concat(s.fixedDirectives(), s.rollingDirectives(), accepted.directives(), []directive{
		{"masterauth", []string{c.Replication}},
		// A server that has no data yet serves no client, and is not ready.
		{"replica-serve-stale-data", []string{"no"}},
		{"min-replicas-to-write", []string{strconv.Itoa(int(s.MinReplicas))}}}))
}

func render(list []directive) string {
	var file strings.Builder
	for _, d := range list {
		file.WriteString(d.name)
		for _, arg := range d.args {
			file.WriteString(" " + Quote(arg))
		}
		file.WriteByte('\n')
	}
	return file.String()
}

// Quote quotes one argument of any bytes, as redis.conf reads it: every byte beyond plain text is written as an
// escape, so no value ends its line.
func Quote(arg string) string {
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

// BackupRights are the rights of a backup on a server, in the words of the users' file: to ask what the server is, and to read all
// data as a dump. PSYNC is allowed for a history that no server has: with the server's own, its FAILOVER makes a replica master. A server
// starts as no master; what becomes a master that has replicas then withdraws the right to a dump (wire.Server.Admit).
var BackupRights = slices.Concat(BackupRightsOnMaster, wire.DumpRights())

// BackupRightsOnMaster are those on a master that has replicas: a backup that asked for a dump could confirm writes in place of them.
var BackupRightsOnMaster = []string{"-@all", "+ping", "+info", "+role"}

// UsersACL is the server's user file. Applications may do everything but change
// roles, users and the server; https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/.
func UsersACL(c Credentials) string {
	return "user " + Application + " on " + aclHashes(c.AcceptedDigests()) + " ~* &* +@all -@admin\n" +
		"user " + wire.Operator + " on " + aclHashes(c.OperatorDigests()) + " -@all +ping +info +role +replicaof +multi +exec +discard" +
		" +config|get +config|set +bgsave +client|kill +client|pause +client|unpause +acl|setuser\n" +
		"user " + wire.Probe + " on nopass -@all +ping +role\n" +
		"user " + wire.Replication + " on #" + Digest(c.Replication) + " -@all +ping +psync +replconf\n" +
		"user " + backup.RedisUser + " on " + aclHashes(c.BackupDigests()) + " " + strings.Join(BackupRights, " ") + "\n"
}

func aclHashes(digests []string) string {
	words := make([]string, 0, len(digests))
	for _, d := range digests {
		words = append(words, "#"+d)
	}
	return strings.Join(words, " ")
}

// Digest is the SHA-256 of a text in hex digits, as users.acl names a password.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
