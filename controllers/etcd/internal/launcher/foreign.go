package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

const (
	// maxForeign is how many directories are named.
	maxForeign = 5
	// lostAndFound is a directory of the file system, which only root can read.
	lostAndFound = "lost+found"
)

// foreignError names the directories.
type foreignError string

func (f foreignError) Error() string { return string(f) }

// checkForeign returns a foreignError if a member that starts without data would start next to the log of another cluster: somebody
// has bound a retained volume to its claim, and an empty cluster would hide what is there. An operator that does not know all
// directories of its own cluster names none, and nothing is checked.
func checkForeign(permit Permit, volume string) error {
	if len(permit.Known) == 0 {
		return nil
	}
	entries, err := os.ReadDir(volume)
	if err != nil {
		return err
	}
	var found []string
	if what, is := describeForeign(volume, "member"); is { // of an etcd that had the volume for itself
		found = append(found, what)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || name == lostAndFound || slices.Contains(permit.Known, name) {
			continue
		}
		if what, is := describeForeign(volume+"/"+name, name); is {
			found = append(found, what)
		}
	}
	if len(found) == 0 {
		return nil
	}
	if more := len(found) - maxForeign; more > 0 {
		found = append(found[:maxForeign], fmt.Sprintf("%d more", more))
	}
	return foreignError(strings.Join(found, ", "))
}

// describeForeign returns how to name a directory, and whether it is foreign: it has a log, or it cannot be read and may have one. An etcd
// that runs as another user makes directories that no other user can read.
func describeForeign(directory, name string) (what string, is bool) {
	has, err := hasLog(directory)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return name, has
	}
	reason := err
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		reason = failed.Err
	}
	return fmt.Sprintf("%s: cannot be read, %s", name, reason), true
}
