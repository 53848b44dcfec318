package membership

import "github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"

const (
	// fullLogs is what etcd's logs take at most, in bytes: five segments that it keeps (DefaultMaxWALs in etcd's server/embed/config.go),
	// the next one, which it reserves, and one more: the one that it fills until the kept ones are next counted (purgeFileInterval in
	// server/etcdserver/server.go), or the first one of a member that is restored next to it.
	fullLogs = 7 * launcher.LogSpace
	// leastLogs is for the logs on a smaller disk, in bytes: the segment that a member starts with, and that of a restored one. etcd runs on
	// such a disk although fullLogs would not fit.
	leastLogs = 2 * launcher.LogSpace
)

// logsOn is the room for logs on a disk of that size; both are in bytes.
func logsOn(disk int64) int64 {
	if disk < fullLogs {
		return leastLogs
	}
	return fullLogs
}
