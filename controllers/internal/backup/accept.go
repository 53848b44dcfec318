package backup

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// ReadManifest reads the manifest of an item. It refuses one of a later release, and one that describes another item: its error is
// permanent.
func ReadManifest(text []byte, server ServerType, item string) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, Permanent(fmt.Errorf("the manifest of %s is not valid JSON: %w", item, err))
	}
	switch {
	case m.Format > Format:
		return Manifest{}, Permanent(fmt.Errorf("the manifest of %s has format %d, and this release reads up to %d: use a later release",
			item, m.Format, Format))
	case m.Format < 1 || m.Kind != server || m.Item != item:
		return Manifest{}, Permanent(fmt.Errorf("the manifest of the %s backup %s belongs to another backup", server, item))
	case m.Size < 0 || m.RawSize < 0 || m.Revision < 0 || m.Offset < 0:
		return Manifest{}, Permanent(fmt.Errorf("the manifest of %s has a size, a revision or an offset below zero", item))
	case !isSHA256(m.SHA256):
		return Manifest{}, Permanent(fmt.Errorf("the manifest of %s has no SHA-256 of its data", item))
	}
	switch commonv1.BackupCompression(m.Compression) {
	case commonv1.CompressGzip, commonv1.CompressNone:
		return m, nil
	}
	return Manifest{}, Permanent(fmt.Errorf("the manifest of %s has the unknown compression %q", item, untrusted.Sanitize(m.Compression)))
}

// SourceUID reads the UID of what was backed up from a manifest of any format; it is empty for what is no manifest.
func SourceUID(manifest []byte) string {
	var m struct {
		SourceUID string `json:"sourceUID"`
	}
	if json.Unmarshal(manifest, &m) != nil {
		return ""
	}
	return m.SourceUID
}

// StatusItem is what a status says of the backup.
func (m Manifest) StatusItem(verified bool) commonv1.BackupItem {
	return commonv1.BackupItem{
		Name: m.Item, Time: metav1.NewTime(m.Time), Size: m.Size, SHA256: m.SHA256, Verified: verified,
		Revision: m.Revision, Offset: m.Offset, ServerVersion: m.ServerVersion,
		ComparedWith: untrusted.SanitizeTo(m.Compared.comparedWith(), maxMember),
	}
}

// LoadableBy refuses a backup that a server of that version cannot load: data of a later minor version of etcd, or of a later version
// of Redis' dump format. An empty version loads all. Its error is permanent.
func (m Manifest) LoadableBy(version string) error {
	major, minor, known := minorVersion(version)
	if !known {
		return nil
	}
	if m.Kind == Redis {
		return m.loadableByRedis(version, major, minor)
	}
	fromMajor, fromMinor, known := minorVersion(m.ServerVersion)
	if !known || isLater(fromMajor, fromMinor, major, minor) {
		return Permanent(fmt.Errorf("the backup %s is from etcd %q, which etcd %s cannot load: it accepts no data of a later minor version",
			m.Item, m.ServerVersion, version))
	}
	return nil
}

// redisDumps are the latest versions of the dump format that Redis loads, up to the release before the one named: RDB_VERSION in its
// src/rdb.h. Valkey of the same number loads no later ones. Of later releases the server itself judges.
var redisDumps = []struct{ beforeMajor, beforeMinor, format int }{
	{7, 0, 9}, {7, 2, 10}, {7, 4, 11}, {8, 6, 12},
}

func (m Manifest) loadableByRedis(version string, major, minor int) error {
	for _, dump := range redisDumps {
		if !isLater(dump.beforeMajor, dump.beforeMinor, major, minor) {
			continue
		}
		if m.RDBVersion > dump.format {
			return Permanent(fmt.Errorf("the backup %s is from server %q and has version %d of the dump format, of which %s loads up to %d",
				m.Item, m.ServerVersion, m.RDBVersion, version, dump.format))
		}
		return nil
	}
	return nil
}

func isLater(major, minor, thanMajor, thanMinor int) bool {
	return major > thanMajor || major == thanMajor && minor > thanMinor
}

// minorVersion reads the first two numbers of a version such as 3.6.16; it is not known if there are none.
func minorVersion(version string) (major, minor int, known bool) {
	n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return major, minor, n == 2
}
