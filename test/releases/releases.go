// Package releases knows what is kept of each release under test/olm: its bundle,
// objects as its API server stored them, and the workloads that it made of them.
package releases

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/mod/semver"
)

// kept is where releases are kept, below the module's root.
const kept = "test/olm"

// Kept are the folders of all releases that are kept, the oldest first.
func Kept(root string) ([]string, error) {
	folders, err := filepath.Glob(filepath.Join(root, kept, "v*"))
	if err != nil {
		return nil, err
	}
	folders = slices.DeleteFunc(folders, func(folder string) bool { return !semver.IsValid(filepath.Base(folder)) })
	slices.SortFunc(folders, func(a, b string) int {
		return cmp.Or(semver.Compare(filepath.Base(a), filepath.Base(b)), cmp.Compare(a, b))
	})
	return folders, nil
}

// Last is the folder of the newest release that is kept.
func Last(root string) (string, error) {
	folders, err := Kept(root)
	if err != nil {
		return "", err
	}
	if len(folders) == 0 {
		return "", fmt.Errorf("%s keeps no release: make cut", kept)
	}
	return folders[len(folders)-1], nil
}
