package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile(`\bTest[A-Z]\w+`)
	namedPath = regexp.MustCompile("`((?:api|bundle|config|controllers|docs|hack|test)/[\\w./-]+)`")
	// namedInFile is a name, and the file of Go that is said to have it.
	namedInFile = regexp.MustCompile("`(\\w+)`(?: and `(\\w+)`)? in\\s+`((?:api|controllers|hack|test)/[\\w./-]+\\.go)`")
	// namedSpecs are one or more names of specs in quotes, over the ends of lines.
	namedSpecs = regexp.MustCompile(`\be2e(?:,?\s+"[^"]+")+`)
	inQuotes   = regexp.MustCompile(`"[^"]+"`)
)

// A page that names what is no longer there misleads its readers.
func TestWhatThePagesNameIsThere(t *testing.T) {
	base := root(t)
	tests, specs := testsOf(t, base), specsOf(t, base)
	pages, names, quoted := pagesOf(t, base), 0, 0
	for _, name := range pages {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(base, name))
			if err != nil {
				t.Fatal(err)
			}
			text := string(content)
			for _, found := range namedTest.FindAllString(text, -1) {
				names++
				if !tests[found] {
					t.Errorf("there is no test %s", found)
				}
			}
			for _, found := range specsNamedIn(text) {
				names++
				quoted++
				if !specs[found] {
					t.Errorf("test/e2e has no spec %s", found)
				}
			}
			for _, found := range namedPath.FindAllStringSubmatch(text, -1) {
				names++
				if _, err := os.Stat(filepath.Join(base, found[1])); err != nil {
					t.Errorf("there is no %s", found[1])
				}
			}
			for _, found := range namedInFile.FindAllStringSubmatch(text, -1) {
				source, _ := os.ReadFile(filepath.Join(base, found[3]))
				for _, word := range found[1:3] {
					if !regexp.MustCompile(`\b` + word + `\b`).Match(source) {
						t.Errorf("%s does not have %s", found[3], word)
					}
				}
			}
		})
	}
	if len(pages) == 0 || names == 0 || len(tests) == 0 || quoted == 0 {
		t.Errorf("%d pages name %d things, of %d tests, and quote %d specs", len(pages), names, len(tests), quoted)
	}
}

func TestSpecsThatAPageNames(t *testing.T) {
	text := "e2e \"one\n  and more\", \"two\" | \"no name\" e2e, that is, \"none\"; e2e\n\"three\""
	if got := specsNamedIn(text); !slices.Equal(got, []string{`"one and more"`, `"two"`, `"three"`}) {
		t.Errorf("%q", got)
	}
}

// specsNamedIn are the names of specs, in quotes, that a page quotes as e2e "...".
func specsNamedIn(text string) []string {
	var names []string
	for _, found := range namedSpecs.FindAllString(text, -1) {
		for _, name := range inQuotes.FindAllString(found, -1) {
			names = append(names, strings.Join(strings.Fields(name), " "))
		}
	}
	return names
}

// specsOf returns the names of all specs of test/e2e and the folders in it, in quotes.
func specsOf(t *testing.T, base string) map[string]bool {
	t.Helper()
	declared, specs := regexp.MustCompile(`\b(?:(?:It|Entry|DescribeTable)\(|const promise = )("[^"\n]+")`), map[string]bool{}
	for _, pattern := range []string{"test/e2e/*_test.go", "test/e2e/*/*_test.go"} {
		files, err := filepath.Glob(filepath.Join(base, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range declared.FindAllStringSubmatch(string(content), -1) {
				specs[found[1]] = true
			}
		}
	}
	return specs
}

// testsOf returns the names of all tests.
func testsOf(t *testing.T, base string) map[string]bool {
	t.Helper()
	declared, tests := regexp.MustCompile(`(?m)^func (Test\w+)\(`), map[string]bool{}
	for _, folder := range []string{"api", "controllers", "hack", "test"} {
		err := filepath.WalkDir(filepath.Join(base, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, found := range declared.FindAllStringSubmatch(string(content), -1) {
				tests[found[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tests
}

// A pattern of the Makefile that matches no test skips it without an error.
func TestMakeRunsTestsThatExist(t *testing.T) {
	base := root(t)
	makefile, err := os.ReadFile(filepath.Join(base, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	tests, patterns := testsOf(t, base), 0
	for _, found := range regexp.MustCompile(`-run '\^\(?(Test[\w|]+)`).FindAllStringSubmatch(string(makefile), -1) {
		for pattern := range strings.SplitSeq(found[1], "|") {
			patterns++
			if !slices.ContainsFunc(slices.Collect(maps.Keys(tests)), func(test string) bool { return strings.HasPrefix(test, pattern) }) {
				t.Errorf("the Makefile runs %s…, and there is no such test", pattern)
			}
		}
	}
	if patterns == 0 {
		t.Error("no pattern was found in the Makefile")
	}
}

// pagesOf returns all pages but the generated reference.
func pagesOf(t *testing.T, base string) []string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{
		"*.md", ".github/*.md", "docs/*.md", "docs/*/*.md", "hack/*/*.md", "test/*.md",
		"controllers/*/*.md", "controllers/*/*/*.md", "controllers/*/*/*/*.md",
	} {
		found, err := filepath.Glob(filepath.Join(base, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			name, err := filepath.Rel(base, path)
			if err != nil {
				t.Fatal(err)
			}
			if name != "docs/api.md" {
				pages = append(pages, name)
			}
		}
	}
	return pages
}
