package docs

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns   = 140
	maxTestLines = 500
)

// A wording is one that readers stumble over, with what to write instead.
type wording struct{ pattern, instead string }

// In the patterns, a space is any white space, also the end of a line of comments.
var wordings = []wording{
	{`[Tt]old`, "reported, shown, passed"},
	{`[Tt]ell(s|ing)?`, "report, show, say, let X distinguish"},
	{`[Aa]new`, "recreate, restart, start over, again"},
	{`[Bb]eg[aiu]n(s|ning)?`, "start"},
	{`[Ww]hoever`, "a user who, a program that"},
	{`[Nn]obody`, "no user, no one"},
	{`([Gg]o|[Gg]oes|[Gg]oing|[Ww]ent|[Gg]one) [Oo]n`, "continue"},
	{`[Mm]end(s|ed|ing)?`, "fix, repair, correct"},
	{`[Hh]inder(s|ed|ing)?`, "block, prevent"},
	{`in (its|the|their) way`, "block, prevent"},
	{`[Oo]utlast(s|ed|ing)?`, "wait for it to end"},
	{`[Bb]eside`, "next to, in parallel, as well as"},
	{`[Aa]side`, "next to, apart"},
	{`([Oo]f|[Oo]n) [Rr]ecord`, "recorded"},
	{`of (before|old)`, "previous, earlier"},
	{`[Aa]s far as`, "up to, where"},
	{`[Ss]o long as`, "while, until"},
	{`[Ss]tand(s|ing)? in`, "is in, replaces"},
	{`[Aa]miss`, "wrong"},
	{`makes? no sense`, "cannot be parsed"},
}

var (
	// fixedNames cannot be changed: a field of the API, the user with the ID 65534, a file in pods, and words of Redis.
	fixedNames = regexp.MustCompile("[bB]egunRestoreUIDs|[\"`]no" + "body[\"`]|user no" + "body|no" + "body:[x/]|no" + "body \\(|" +
		"/beg" + "an-|args beg" + "inning with")
	lowerUpper   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	receiver     = regexp.MustCompile(`(?m)^func \((\w+) \*?(\w)`)
	loopOne      = regexp.MustCompile(`\bfor (\w+, )?one :?= `)
	rowThatLeans = rowStarting("and|then|nor|or|but|unless|which|also|not")
	// In these two, rows may still start with the other words, and a variable outside of a loop may still be one.
	olderForm        = regexp.MustCompile(`^controllers/(redis|etcd)/`)
	rowThatLeansMuch = rowStarting("and|then|nor|or|but")
)

// Go files, pages and the comments of other files are plain English, and keep to the same form.
func TestLanguage(t *testing.T) {
	base := root(t)
	places, words := map[string][]string{}, wordsToAvoid()
	for _, name := range slices.Concat(sourcesOf(t, base), pagesOf(t, base), withCommentsOf(t, base)) {
		content, err := os.ReadFile(filepath.Join(base, name))
		if err != nil {
			t.Fatal(err)
		}
		place, text := path.Dir(name), string(content)
		var complaints []string
		switch filepath.Ext(name) {
		case ".go":
			complaints = complaintsOfForm(name, text)
		case ".md":
			place += "/*.md"
		default:
			place += "/#"
			text = hashComments(text)
			complaints = complaintsOfLength(text)
		}
		complaints = append(complaints, complaintsOf(words, text)...)
		if _, found := places[place]; !found {
			places[place] = nil
		}
		for _, complaint := range complaints {
			places[place] = append(places[place], name+":"+complaint)
		}
	}
	for place, complaints := range places {
		t.Run(place, func(t *testing.T) {
			if len(complaints) > 0 {
				t.Error(strings.Join(complaints, "\n"))
			}
		})
	}
}

func TestComplaintsAboutLanguage(t *testing.T) {
	words := wordsToAvoid()
	for text, want := range map[string]int{
		"The pod is reported. A toldable tale of Stellar begs.": 0,
		"the pod is t" + "old":          1,
		"// it goes\n\t// o" + "n":      1,
		"# it goes\n# o" + "n":          1,
		"func m" + "ended() {}":         1,
		"func isM" + "ended() {}":       1,
		"N" + "obody has b" + "egun it": 2,
	} {
		if got := complaintsOf(words, text); len(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for text, want := range map[string]int{
		"func (p *pod) start() {}\n":                                 0,
		"func (q *pod) start() {}\n":                                 1,
		"for _, one := range pods {\n":                               1,
		"two\n// one\none, two := \"one\", twoOrOne\n":               1,
		"\t\t{\"an" + "d another\", 1},\n\t\t{\"another\", 1},\n":    1,
		"\t\t{\"un" + "less another\", 1},\n":                        1,
		"\t\t\"th" + "en another\": 1,\n\t\t\"or\"+\"then another\"": 1,
		strings.Repeat("é", maxColumns) + "\n":                       0,
		strings.Repeat("é", maxColumns+1) + "\n":                     1,
		strings.Repeat("\n", maxTestLines):                           0,
		strings.Repeat("\n", maxTestLines+1):                         1,
	} {
		if got := complaintsOfForm("any_test.go", text); len(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// rowStarting matches the name of a row of a table, or of a spec, that starts with one of the words.
func rowStarting(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)((\{|name:\s*|Entry\(|It\(|Run\()"(` + words + `) [^"]*"|^\s*"(` + words + `) [^"]*":)`)
}

// wordsToAvoid are the patterns of the wordings.
func wordsToAvoid() map[*regexp.Regexp]string {
	words := map[*regexp.Regexp]string{}
	for _, w := range wordings {
		words[regexp.MustCompile(`\b(`+strings.ReplaceAll(w.pattern, " ", `\s+(?:(?://|#+)\s+)?`)+`)\b`)] = w.instead
	}
	return words
}

// complaintsOf returns the words in a text that are to be avoided, also in names: "isMet" is read as "is Met".
func complaintsOf(words map[*regexp.Regexp]string, text string) []string {
	text = lowerUpper.ReplaceAllString(fixedNames.ReplaceAllString(text, ""), "$1 $2")
	var complaints []string
	for word, instead := range words {
		for _, at := range word.FindAllStringIndex(text, -1) {
			complaints = append(complaints, fmt.Sprintf("%d: %q: write %s", lineOf(text, at[0]), text[at[0]:at[1]], instead))
		}
	}
	slices.Sort(complaints)
	return complaints
}

// complaintsOfForm returns what breaks the rules for the form of a Go file.
func complaintsOfForm(name, text string) []string {
	complaints := complaintsOfLength(text)
	add := func(line int, format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf("%d: "+format, append([]any{line}, args...)...))
	}
	for _, at := range receiver.FindAllStringSubmatchIndex(text, -1) {
		if got, want := text[at[2]:at[3]], strings.ToLower(text[at[4]:at[5]]); got != want {
			add(lineOf(text, at[0]), "receiver %s: write %s", got, want)
		}
	}
	lines := linesOf(text, "one")
	if olderForm.MatchString(name) {
		lines = nil
		for _, at := range loopOne.FindAllStringIndex(text, -1) {
			lines = append(lines, lineOf(text, at[0]))
		}
	}
	for _, line := range lines {
		add(line, "one: name what it is")
	}
	if !strings.HasSuffix(name, "_test.go") {
		return complaints
	}
	leans := rowThatLeans
	if olderForm.MatchString(name) {
		leans = rowThatLeansMuch
	}
	for _, at := range leans.FindAllStringIndex(text, -1) {
		add(lineOf(text, at[0]), "row %s: write a sentence that stands alone", strings.TrimSpace(text[at[0]:at[1]]))
	}
	if lines := strings.Count(text, "\n"); lines > maxTestLines {
		add(lines, "%d lines, at most %d", lines, maxTestLines)
	}
	return complaints
}

// complaintsOfLength returns the lines that are too long.
func complaintsOfLength(text string) []string {
	var complaints []string
	for i, line := range strings.Split(text, "\n") {
		if columns := utf8.RuneCountInString(line); columns > maxColumns {
			complaints = append(complaints, fmt.Sprintf("%d: %d columns, at most %d", i+1, columns, maxColumns))
		}
	}
	return complaints
}

// linesOf returns the lines in which a Go file has an identifier.
func linesOf(text, identifier string) []int {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, 0)
	var lines []int
	for {
		at, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return lines
		case kind == token.IDENT && literal == identifier:
			lines = append(lines, file.Line(at))
		}
	}
}

func lineOf(text string, at int) int { return strings.Count(text[:at], "\n") + 1 }

// sourcesOf returns all Go files but generated ones.
func sourcesOf(t *testing.T, base string) []string {
	t.Helper()
	var sources []string
	err := filepath.WalkDir(base, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && at != base && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(at) != ".go" || strings.HasPrefix(entry.Name(), "zz_generated"):
			return nil
		}
		name, err := filepath.Rel(base, at)
		sources = append(sources, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}
