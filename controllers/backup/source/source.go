// Package source reads the data of running servers for a backup, and starts scratch servers from such data to verify it. What the
// servers say is bounded, and is checked where it can be.
package source

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// Meta describes the data that a source gave.
type Meta struct {
	// ServerVersion that the data was read from.
	ServerVersion string

	// Revision of an etcd's keys, and the ID of its cluster in hexadecimal.
	Revision  int64
	ClusterID string
	// Compared says which member of an etcd has the same data as the one that was read.
	Compared *backup.Comparison

	// ReplicationID and Offset of a Redis, and the version of its dump's format.
	ReplicationID string
	Offset        int64
	RDBVersion    int
	// Keys in the dump, and those of them with a time to live; rdb.Uncounted if the dump has values of an unknown layout.
	Keys, Expires int64
}

const (
	// dialTimeout is the time to connect to a server, and for TLS.
	dialTimeout = 10 * time.Second
	// replyTimeout is the time for one short reply.
	replyTimeout = 10 * time.Second
	// progressTimeout is for how long nothing may arrive of a dump. A server that prepares a dump reports that every second.
	progressTimeout = time.Minute
	// pollInterval is the time between two looks at a server that is waited for.
	pollInterval = 100 * time.Millisecond
	// maxSecret bounds a file with a login or a certificate, in bytes: a Secret has no more.
	maxSecret = 1 << 20
)

var versionPattern = regexp.MustCompile(`^[0-9]{1,5}\.[0-9]{1,5}\.[0-9]{1,5}[0-9A-Za-z.+~-]{0,16}$`)

// File is an empty file that gets the data of a server.
type File interface {
	io.Writer
	Name() string
}

// checkVersion returns an error for what is no version of a server.
func checkVersion(version string) error {
	if !versionPattern.MatchString(version) {
		return fmt.Errorf("the server reports the version %s, which is not a version", untrusted.Quote(version))
	}
	return nil
}

// readSecret reads a file of the directory that the source's secrets are in.
func readSecret(dir, name string) ([]byte, error) {
	at := filepath.Join(dir, name)
	if is, err := os.Stat(at); err == nil && is.Size() > maxSecret {
		return nil, backup.Permanent(fmt.Errorf("%s of the source has more than %d bytes", name, maxSecret))
	}
	content, err := os.ReadFile(at)
	if err != nil {
		return nil, fmt.Errorf("reading %s of the source: %w", name, err)
	}
	return content, nil
}

// readWord reads a file with one word.
func readWord(dir, name string) (string, error) {
	content, err := readSecret(dir, name)
	return strings.TrimRight(string(content), "\n"), err
}
