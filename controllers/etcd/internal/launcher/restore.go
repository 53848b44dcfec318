package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// restoreRetryLimit is for how long a backup is asked for in vain before the container ends, with the reason for the operator.
	restoreRetryLimit = time.Minute
	// LogSpace is what the log of a member takes on its volume from its start, in bytes (server/storage/wal, SegmentSizeBytes).
	LogSpace = 64_000_000
)

// unusableError says why the backup cannot be restored here, until something else is changed.
type unusableError struct{ error }

func (u unusableError) Unwrap() error { return u.error }

// errNotFetched is no failure: what keeps the operator from fetching the backup, it reports itself.
var errNotFetched = errors.New("the operator has not fetched it yet")

// workDir is where a backup is restored, next to the data directory that it is then moved to. What is left there of a restore that
// was cut short is dropped.
func workDir(volume, data string) string { return volume + "/restoring-" + data }

// restoreOnce has a member that is to start with a backup get its data directory from it, whole or not at all: what was restored
// is moved into place when all of it is on the disk. With a log in place nothing is ever restored again.
//
// An unusableError ends the container, whose next start tries again. Any other error may pass.
func restoreOnce(command []string, permit Permit, at Paths) error {
	directory, work := at.Data+"/"+permit.Data, workDir(at.Data, permit.Data)
	if done, err := hasLog(directory); permit.Restore == nil || done || err != nil {
		return errors.Join(err, dropWork(permit, work, done))
	}
	if permit.Restore.URL == "" {
		return errNotFetched
	}
	if err := errors.Join(dropUnfinished(at.Data), os.Mkdir(work, 0o700)); err != nil {
		return unusableError{err}
	}
	if err := download(command, *permit.Restore, work); err != nil {
		return err
	}
	if err := runEtcdutl(restoreCommand(command, permit, work)); err != nil {
		return unusableError{err}
	}
	if err := os.Remove(snapshotFile(work)); err != nil { // a server that is started next needs its room
		return unusableError{err}
	}
	if err := requireLoginToRestored(command, permit, at.Loopback, work); err != nil {
		return err
	}
	err := errors.Join(syncTree(work+"/restored"), os.Rename(work+"/restored/member", directory+"/member"), syncDir(directory))
	if err != nil {
		return unusableError{err}
	}
	return os.RemoveAll(work)
}

// dropUnfinished drops what restores have left that did not come to their end, this one's and those that it supersedes: it would
// take the room that this one needs.
func dropUnfinished(volume string) error {
	left, err := filepath.Glob(workDir(volume, "*"))
	for _, work := range left {
		err = errors.Join(err, os.RemoveAll(work))
	}
	return err
}

// dropWork drops what a restore has left that was killed after its end.
func dropWork(permit Permit, work string, done bool) error {
	if permit.Restore == nil || !done {
		return nil
	}
	return os.RemoveAll(work)
}

// snapshotFile is the backup in the folder of the restore.
func snapshotFile(work string) string { return work + "/snapshot.db" }

// restoreCommand makes a data directory of the member alone from the snapshot, by the etcdutl that lies next to etcd. Flags are those
// of https://etcd.io/docs/v3.6/op-guide/recovery/
func restoreCommand(command []string, permit Permit, work string) []string {
	words := []string{filepath.Join(filepath.Dir(command[0]), "etcdutl"), "snapshot", "restore", snapshotFile(work),
		"--data-dir=" + work + "/restored",
		"--name=" + wordOf(command, "name"), "--initial-advertise-peer-urls=" + wordOf(command, "initial-advertise-peer-urls"),
		"--initial-cluster-token=" + permit.Token, "--initial-cluster=" + strings.Join(permit.InitialCluster, ",")}
	if bump := permit.Restore.RevisionBump; bump > 0 {
		words = append(words, fmt.Sprintf("--bump-revision=%d", bump), "--mark-compacted")
	}
	return words
}

// requireLoginToRestored has the restored data require a login, in a cluster that requires one. If that fails, the data is never served.
func requireLoginToRestored(command []string, permit Permit, address, work string) error {
	if len(permit.Restore.OperatorUsers) == 0 {
		return nil
	}
	err := requireLogin(etcdCommand(command, permit, work+"/restored"), address, permit.Restore.OperatorUsers)
	if err == nil || errors.Is(err, errAskedToEnd) {
		return err
	}
	return unusableError{fmt.Errorf("requiring a login for the data: %w", err)}
}

// checkRoom returns an unusableError if the volume has no room for the snapshot, the database that is made from it, and a log.
func checkRoom(directory string, size int64) error {
	var volume syscall.Statfs_t
	if err := syscall.Statfs(directory, &volume); err != nil {
		return &fs.PathError{Op: "statfs", Path: directory, Err: err}
	}
	free, needed := int64(volume.Bavail)*volume.Bsize, 2*size+LogSpace //nolint:gosec // a volume is far below 2^63 bytes
	if size < 0 || free < needed {
		return unusableError{fmt.Errorf("the volume has %d bytes free, and the restore of a backup of %d bytes needs %d", free, size, needed)}
	}
	return nil
}

// patience bounds for how long a backup is asked for in vain.
type patience struct{ since time.Time }

// bound returns the error, as one that ends the container once it has come for too long.
func (p *patience) bound(err error) error {
	now := time.Now() //nolint:forbidigo // a program of its own
	switch {
	case err == nil, errors.Is(err, errNotFetched):
		p.since = time.Time{}
	case p.since.IsZero():
		p.since = now
	case now.Sub(p.since) > restoreRetryLimit:
		return unusableError{err}
	}
	return err
}
