// Package mutants plants known faults into the Redis controller, one at a time: the test
// that stands for the rule must find each.
package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	// root of the repository.
	root = "../.."
	// controller that faults are planted into.
	controller = "controllers/redis"
)

// mutant breaks one rule of the plan, of the acts or of what is observed.
type mutant struct {
	name     string
	file     string // below the controller
	old, new string
	test     string // beside the file, in words: its name, a slash, its row
}

func (m mutant) dir() string { return "./" + filepath.Join(controller, filepath.Dir(m.file)) }

// shown is the test's name as the go command prints it.
func (m mutant) shown() string { return strings.ReplaceAll(m.test, " ", "_") }

// pattern matches this test, and no other.
func (m mutant) pattern() string {
	var parts []string
	for part := range strings.SplitSeq(m.shown(), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}

// A mutant that no test finds is no proof unless its test is there and passes without it.
func TestEachIsFound(t *testing.T) {
	sound := map[string]string{}
	for _, m := range planted() {
		if _, ran := sound[m.dir()]; !ran {
			sound[m.dir()] = run(m.dir(), testsIn(m.dir()))
		}
		if !strings.Contains(sound[m.dir()], "--- PASS: "+m.shown()+" (") {
			t.Fatalf("%s: %s does not pass without it:\n%s", m.name, m.test, sound[m.dir()])
		}
	}
	for _, m := range planted() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			output := run(m.dir(), m.pattern(), "-overlay", m.plant(t))
			switch failed := strings.Contains(output, "--- FAIL: "+m.shown()+" ("); {
			case failed:
			case strings.Contains(output, "--- PASS: "+m.shown()+" ("):
				t.Errorf("%s passes with it", m.test)
			default:
				t.Errorf("it is no fault of behaviour:\n%s", output)
			}
		})
	}
}

// Also what is tried with LONG=1 only must have its place in the code.
func TestEachHasItsPlace(t *testing.T) {
	for _, m := range known() {
		t.Run(m.name, func(t *testing.T) { m.plant(t) })
	}
}

// testsIn a package that find a mutant.
func testsIn(dir string) string {
	var patterns []string
	for _, m := range planted() {
		if m.dir() == dir {
			patterns = append(patterns, m.pattern())
		}
	}
	slices.Sort(patterns)
	return strings.Join(slices.Compact(patterns), "|")
}

// run tests, and give what the go command prints. What is built for one test is not optimized and not
// for debugging, and its compiler need not save memory: together a quarter less time.
func run(dir, pattern string, flags ...string) string {
	test := exec.Command("go", slices.Concat([]string{"test", "-v", "-short", "-vet=off", "-gcflags=-N -l -dwarf=false", "-ldflags=-s -w", "-timeout=1m", "-run", pattern}, flags, []string{dir})...)
	test.Dir = root
	test.Env = append(os.Environ(), "GOGC=off")
	output, _ := test.CombinedOutput() // which tells all
	return string(output)
}

// plant writes an overlay, https://pkg.go.dev/cmd/go#hdr-Compile_packages_and_dependencies.
func (m mutant) plant(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, controller, m.file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		t.Fatalf("%s: its place is there %d times", m.file, n)
	}
	mutated, overlay := filepath.Join(t.TempDir(), filepath.Base(m.file)), filepath.Join(t.TempDir(), "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{mutated: []byte(strings.Replace(string(source), m.old, m.new, 1)), overlay: replace} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
