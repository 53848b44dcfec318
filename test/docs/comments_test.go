package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// commentedFiles have comments that start with #, and are written by hand but for generatedFiles.
	commentedFiles = []string{
		"Makefile", "Dockerfile", ".golangci.yml", ".ci/*", ".github/*/*.yaml", "config/*/*.yaml", "config/*/*/*.yaml", "hack/*.yaml",
		"hack/cluster/config/*", "hack/cluster/images/*/*.sh", "hack/cluster/images/*/usr/local/bin/*.sh", "hack/tools/build",
		"hack/newkind/templates/*.yaml.tmpl", "test/olm/*.yaml",
	}
	generatedFiles = regexp.MustCompile(`^config/(crd/bases/.*|rbac/role\.yaml)$`)
	hashComment    = regexp.MustCompile(`(^|\s)#.*$`)
)

// withCommentsOf returns the files whose comments start with #.
func withCommentsOf(t *testing.T, base string) []string {
	t.Helper()
	var names []string
	for _, pattern := range commentedFiles {
		found, err := filepath.Glob(filepath.Join(base, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s matches no file: %v", pattern, err)
		}
		for _, path := range found {
			name, err := filepath.Rel(base, path)
			if err != nil {
				t.Fatal(err)
			}
			if !generatedFiles.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// hashComments returns the comments of a text, each in its line.
func hashComments(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = hashComment.FindString(line)
	}
	return strings.Join(lines, "\n")
}

func TestHashComments(t *testing.T) {
	text := "# The first\n# comment.\nsize: 3 # The second.\nrun: ## The third.\nurl: a#b\n"
	if got, want := hashComments(text), "# The first\n# comment.\n # The second.\n ## The third.\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
