// Package backup holds what the operator, its runner and the restores agree on: how a backup is named and described in a store,
// what a runner has to do, and what it answers. It is pure.
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
)

// A backup is three objects in one folder of the store. Their names are never used twice:
//
//	<prefix>/<namespace>/<name of the EtcdBackup or RedisBackup>/<item>.<etcd|redis>.data
//	<prefix>/<namespace>/<name>/<item>.<etcd|redis>.json      manifest: written after the data; without it there is no backup
//	<prefix>/<namespace>/<name>/<item>.<etcd|redis>.verified  empty: written once a server was started from the backup

// ServerType says which server a backup is of.
type ServerType string

// The types of servers.
const (
	Etcd  ServerType = "etcd"
	Redis ServerType = "redis"
)

// itemTime is the layout of the start time in an item's name.
const itemTime = "20060102T150405Z"

// The ends of the names of a backup's objects.
const (
	dataSuffix     = ".data"
	manifestSuffix = ".json"
	verifiedSuffix = ".verified"
)

var itemName = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`)

// Folder is where the backups of one object are, beneath the store's prefix.
func Folder(namespace, name string) string { return path.Join(namespace, name) }

// ItemName names one attempt at a backup: its time in UTC and eight digits that follow from the attempt.
func ItemName(started time.Time, owner string, scheduled time.Time, attempt int32) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", owner, scheduled.Unix(), attempt))
	return started.UTC().Format(itemTime) + "-" + hex.EncodeToString(sum[:4])
}

// ItemTime reads from an item's name when it was started.
func ItemTime(item string) (time.Time, error) {
	if !itemName.MatchString(item) {
		return time.Time{}, fmt.Errorf("%q is not the name of a backup, such as 20060102T150405Z-89abcdef", item)
	}
	return time.Parse(itemTime, item[:len(itemTime)])
}

// DataName is the name of the item's data within its folder.
func DataName(server ServerType, item string) string { return item + "." + string(server) + dataSuffix }

// ManifestName is the name of the item's manifest within its folder.
func ManifestName(server ServerType, item string) string {
	return item + "." + string(server) + manifestSuffix
}

// VerifiedName is the name of what says that the item was verified, within its folder.
func VerifiedName(server ServerType, item string) string {
	return item + "." + string(server) + verifiedSuffix
}

// ItemOf reads the item from the name of one of its objects within its folder; it is not ok for an object of another type of
// server or of another program.
func ItemOf(server ServerType, object string) (item string, ok bool) {
	for _, suffix := range []string{dataSuffix, manifestSuffix, verifiedSuffix} {
		if item, ok = strings.CutSuffix(object, "."+string(server)+suffix); ok {
			_, err := ItemTime(item)
			return item, err == nil
		}
	}
	return "", false
}
