package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// manyFiles is the number of files of a package, without tests, from which on a README says what each is for.
const manyFiles = 20

var fileInTable = regexp.MustCompile("`([a-z_0-9]+\\.go)`")

// A large package has a README that names each of its files, and no other.
func TestLargePackagesNameTheirFiles(t *testing.T) {
	base, seen := root(t), 0
	err := filepath.WalkDir(filepath.Join(base, "controllers"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		files := productFiles(t, path)
		content, err := os.ReadFile(filepath.Join(path, "README.md"))
		switch {
		case os.IsNotExist(err) && len(files) < manyFiles:
			return nil
		case err != nil:
			t.Errorf("%s has %d files: %v", path, len(files), err)
			return nil
		}
		seen++
		var named []string
		for line := range strings.Lines(string(content)) {
			if strings.HasPrefix(line, "| `") {
				for _, found := range fileInTable.FindAllStringSubmatch(line, -1) {
					named = append(named, found[1])
				}
			}
		}
		for _, name := range files {
			if !slices.Contains(named, name) {
				t.Errorf("%s: README.md does not name %s", path, name)
			}
		}
		for _, name := range named {
			if !slices.Contains(files, name) {
				t.Errorf("%s: README.md names %s, which is not there", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Error("no README was found")
	}
}

// productFiles are the names of the Go files in a folder without its tests.
func productFiles(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
	}
	return names
}
