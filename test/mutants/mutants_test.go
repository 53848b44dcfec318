// Package mutants plants known faults into the controllers of Redis, EtcdCluster and backups, the leader election and the queue, one at a
// time: the test that stands for the rule must find each.
package mutants

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mutant breaks one rule of the plan, of the acts or of what is observed.
type mutant struct {
	name     string
	file     string // relative to Redis' controller
	old, new string // in the body of one function
	test     string // in the folder of the file, in words: its name, a slash, its row
}

func (m mutant) dir() string { return filepath.Dir(m.file) }

// oldText matches the old text wherever its lines end.
func (m mutant) oldText() *regexp.Regexp {
	var words []string
	for _, word := range strings.Fields(m.old) {
		words = append(words, openingBracket.ReplaceAllString(regexp.QuoteMeta(word), `$0\s*`))
	}
	return regexp.MustCompile(strings.Join(words, `\s+`))
}

// openingBracket is one in quoted text. What follows it may start on the next line.
var openingBracket = regexp.MustCompile(`\\[({]`)

// shown is the test's name as the go command prints it.
func (m mutant) shown() string { return strings.ReplaceAll(m.test, " ", "_") }

// passes reports whether its test passes by this output.
func (m mutant) passes(output string) bool {
	return strings.Contains(output, "--- PASS: "+m.shown()+" (")
}

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
	programs, sound := map[string]string{}, map[string]string{}
	for dir, mutants := range byDir(planted) {
		programs[dir] = build(t, dir)
		sound[dir] = run(programs[dir], dir, patterns(mutants))
	}
	for _, m := range planted {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if !m.passes(sound[m.dir()]) {
				// A test that depends on a clock may fail on a busy machine; test-units reports that one.
				if alone := run(programs[m.dir()], m.dir(), m.pattern()); !m.passes(alone) {
					t.Fatalf("%s does not pass without it:\n%s", m.test, alone)
				}
			}
			output := run(programs[m.dir()], m.dir(), m.pattern(), m.name)
			switch failed := strings.Contains(output, "--- FAIL: "+m.shown()+" ("); {
			case failed:
			case m.passes(output):
				t.Errorf("%s passes with it", m.test)
			default:
				t.Errorf("it is no fault of behaviour:\n%s", output)
			}
		})
	}
}

// A change of the code that a mutant is planted into changes the mutant, too.
func TestEachHasOnePlace(t *testing.T) {
	for dir, mutants := range byDir(planted) {
		plantAll(t, folderOf(t, dir), mutants)
	}
}

func byDir(mutants []mutant) map[string][]mutant {
	dirs := map[string][]mutant{}
	for _, m := range mutants {
		dirs[m.dir()] = append(dirs[m.dir()], m)
	}
	return dirs
}

// patterns of all tests that find a mutant.
func patterns(mutants []mutant) string {
	var all []string
	for _, m := range mutants {
		all = append(all, m.pattern())
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "|")
}

// run the tests of one directory with these mutants, and give what they print.
func run(program, dir, pattern string, mutants ...string) string {
	test := exec.Command(program, "-test.v", "-test.short", "-test.timeout=15m", "-test.run", pattern)
	test.Dir = filepath.Join(root, controller, dir)
	test.Env = append(os.Environ(), "FULL=1", choice+"="+strings.Join(mutants, "\n"))
	output, _ := test.CombinedOutput() // which shows all
	return string(output)
}
