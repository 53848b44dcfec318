package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// csvBase is what `make bundle` makes the CSV of. Its description links to pages, too.
const csvBase = "config/manifests/bases/mainstay-operator.clusterserviceversion.yaml"

var (
	// aLink is an inline link or an image; its text may go over the end of a line.
	aLink = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)`)
	// ofThisRepository is a link to a file or folder here, by its address at GitHub.
	ofThisRepository = regexp.MustCompile(`https://github\.com/mainstay-operator/mainstay-operator/(?:blob|tree)/main/([\w./#-]*[\w/#-])`)
	fencedCode       = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	inlineCode       = regexp.MustCompile("`[^`\n]+`")
	heading          = regexp.MustCompile(`(?m)^#{1,6} +(.+?)(?: +#+)? *$`)
	aLine            = regexp.MustCompile(`^L\d+`)
	linkedText       = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// Each link leads somewhere: the file is there, and exactly one heading of it has the anchor.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	base := root(t)
	names, links, anchors := linkedFrom(t, base), 0, 0
	here := site{files: reader(base), anchors: map[string][]string{}}
	for _, name := range names {
		text, err := here.files(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range linksOf(name, text) {
			links++
			if strings.Contains(to, "#") {
				anchors++
			}
			if err := here.follow(to); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if len(names) < 20 || links < 200 || anchors < 100 {
		t.Errorf("%d pages have %d links, %d of them with an anchor", len(names), links, anchors)
	}
}

func TestABrokenLinkIsFound(t *testing.T) {
	here := site{anchors: map[string][]string{}, files: func(name string) (string, error) {
		known := map[string]string{
			"README.md":      "# One\n",
			"docs/redis.md":  "# Redis\n## Who may do what\n### `storage`, and [its size](api.md)\n## Twice\n## Twice\n```sh\n# no heading\n```\n",
			"docs/folder":    "",
			"main.go":        "package main\n",
			"docs/german.md": "## Größe_x & C++: 10 %\n",
		}
		text, ok := known[name]
		if !ok {
			return "", fs.ErrNotExist
		}
		return text, nil
	}}
	for text, found := range map[string]bool{
		"[x](redis.md#who-may-do-what)":                                                        false,
		"[x](redis.md#storage-and-its-size)":                                                   false,
		"[over\ntwo lines](../README.md#one)":                                                  false,
		"[x](#who-may-do-what), [y](folder), [z](../main.go#L1)":                               false,
		"[x](german.md#größe_x--c-10-)":                                                        false,
		"[x](https://example.org/none#where), [y](mailto:a@b.c)":                               false,
		"`[x](none.md)`\n```sh\n[x](none.md)\n```":                                             false,
		"https://github.com/mainstay-operator/mainstay-operator/blob/main/docs/redis.md#redis": false,
		"[x](none.md)":               true,
		"[x](redis.md#who-may)":      true,
		"[x](redis.md#twice)":        true,
		"[x](redis.md#no-heading)":   true,
		"[x](../../README.md)":       true,
		"[x](../main.go#func-main)":  true,
		"[x](#backupstore)":          true,
		"[x](../redis.md#redis)":     true,
		"![picture](none.png)":       true,
		"[x](redis.md#redis \"no\")": false,
		"https://github.com/mainstay-operator/mainstay-operator/blob/main/docs/none.md.":          true,
		"https://github.com/mainstay-operator/mainstay-operator/blob/main/docs/redis.md#storage)": true,
	} {
		var faults []error
		for _, to := range linksOf("docs/redis.md", text) {
			if err := here.follow(to); err != nil {
				faults = append(faults, err)
			}
		}
		if (len(faults) > 0) != found {
			t.Errorf("%q: found %v", text, faults)
		}
	}
}

// site is a set of files, and the anchors of those that were asked for.
type site struct {
	files   func(name string) (string, error)
	anchors map[string][]string
}

// follow a link of linksOf; where it has an anchor, exactly one heading must have it.
func (s site) follow(to string) error {
	file, anchor, anchored := strings.Cut(to, "#")
	text, err := s.files(file)
	switch {
	case err != nil:
		return fmt.Errorf("the link to %s leads nowhere", file)
	case !anchored || path.Ext(file) == ".go" && aLine.MatchString(anchor):
		return nil
	case s.anchors[file] == nil:
		s.anchors[file] = anchorsOf(text)
	}
	switch count := countOf(s.anchors[file], anchor); count {
	case 1:
		return nil
	case 0:
		return fmt.Errorf("%s has no heading with the anchor #%s", file, anchor)
	default:
		return fmt.Errorf("%s has %d headings with the anchor #%s: a link leads to the first of them", file, count, anchor)
	}
}

func countOf(list []string, word string) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other != word }))
}

// anchorsOf returns the anchor of each heading, as GitHub makes it of the text that is shown: in lower case, spaces become
// hyphens, and what is no letter, digit, underscore or hyphen goes. (GitHub adds -1 to the second one that is the same.)
func anchorsOf(text string) []string {
	var anchors []string
	for _, found := range heading.FindAllStringSubmatch(fencedCode.ReplaceAllString(text, ""), -1) {
		shown := strings.NewReplacer("`", "", "*", "").Replace(linkedText.ReplaceAllString(found[1], "$1"))
		anchors = append(anchors, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || unicode.In(r, unicode.Letter, unicode.Mark, unicode.Nd, unicode.Pc):
				return unicode.ToLower(r)
			}
			return -1
		}, shown))
	}
	return anchors
}

// linksOf returns where the links of a page lead within this repository, as path or path#anchor from its root.
func linksOf(name, text string) []string {
	text = inlineCode.ReplaceAllString(fencedCode.ReplaceAllString(text, ""), "`code`")
	var links []string
	for _, found := range aLink.FindAllStringSubmatch(text, -1) {
		file, anchor, anchored := strings.Cut(found[1], "#")
		if strings.Contains(file, ":") {
			continue // an address elsewhere
		}
		to := name
		if file != "" {
			to = path.Join(path.Dir(name), file)
		}
		if anchored {
			to += "#" + anchor
		}
		links = append(links, to)
	}
	for _, found := range ofThisRepository.FindAllStringSubmatch(text, -1) {
		links = append(links, found[1])
	}
	return links
}

// linkedFrom are all pages, and other texts that link to them.
func linkedFrom(t *testing.T, base string) []string {
	t.Helper()
	names := []string{csvBase}
	err := filepath.WalkDir(base, func(file string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(base, file)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && name != ".github" && (strings.HasPrefix(name, ".") || name == "dist"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".md") || strings.HasPrefix(name, ".github/ISSUE_TEMPLATE/"):
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// reader reads files of a folder; a folder in it reads as nothing.
func reader(base string) func(string) (string, error) {
	return func(name string) (string, error) {
		file := filepath.Join(base, name)
		info, err := os.Stat(file)
		if err != nil || info.IsDir() {
			return "", err
		}
		content, err := os.ReadFile(file)
		return string(content), err
	}
}
