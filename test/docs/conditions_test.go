// Package docs compares pages that people read with the code that they speak of.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// page explains every condition and every reason.
const page = "docs/conditions.md"

// The first column of each table on the page has one of these headings. They say whose words stand below.
const (
	conditionHeading = "Condition"
	reasonHeading    = "Reason"
	stateHeading     = "prosta"
	foreignHeading   = "Reason of Kubernetes"
)

// statusHeading is that of a second column whose quoted words are conditions.
const statusHeading = "Condition and status"

// ofKubernetes are words of Kubernetes and of container runtimes that the page explains. No constant has their value.
var ofKubernetes = []string{
	"Completed", "ContainerCannotRun", "ContainerCreating", "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError",
	"ErrImageNeverPull", "ErrImagePull", "Error", "Evicted", "FailedCreate", "ImagePullBackOff", "InvalidImageName", "LeaderElection",
	"NodeAffinity", "NodeShutdown", "OOMKilled", "OutOfcpu", "OutOfephemeral_storage", "OutOfmemory", "OutOfpods", "PodInitializing",
	"Preempting", "RunContainerError", "StartError", "Terminated", "UnexpectedAdmissionError",
}

// quoted matches a word in backticks.
var quoted = regexp.MustCompile("`([^`]+)`")

// A developer who adds a condition or a reason has to say what a user does about it, and one who takes it out of the code
// takes it off the page.
func TestEveryConditionAndReasonIsExplained(t *testing.T) {
	common := filepath.Join(root(t), "api/common/v1")
	known := map[string][]string{
		conditionHeading: constants(t, common, func(name, _ string) bool { return strings.HasPrefix(name, "Condition") }),
		reasonHeading:    constants(t, common, func(name, _ string) bool { return strings.HasPrefix(name, "Reason") }),
		stateHeading: constants(t, filepath.Join(root(t), "api/ego/v1"), func(_, typeName string) bool {
			return typeName == "ProcessState"
		}),
		foreignHeading: ofKubernetes,
	}
	explained := map[string][]string{}
	for _, table := range readTables(t) {
		if known[table.headings[0]] == nil {
			t.Errorf("line %d: it is not known whose words are below %q", table.line, table.headings[0])
		}
		for _, row := range table.rows {
			explained[table.headings[0]] = append(explained[table.headings[0]], quotedWords(row[0])...)
		}
	}
	for heading, words := range known {
		if len(words) == 0 || len(explained[heading]) == 0 {
			t.Errorf("%q: found %d words in the code and %d on the page", heading, len(words), len(explained[heading]))
		}
		for _, word := range words {
			if !slices.Contains(explained[heading], word) {
				t.Errorf("no table below %q explains `%s`", heading, word)
			}
		}
		for _, word := range explained[heading] {
			if !slices.Contains(words, word) {
				t.Errorf("a table below %q explains `%s`, which the code does not have", heading, word)
			}
		}
	}
}

// A row without an answer helps no one at night: where there is nothing to do, it says so.
func TestEveryRowIsComplete(t *testing.T) {
	conditions := constants(t, filepath.Join(root(t), "api/common/v1"),
		func(name, _ string) bool { return strings.HasPrefix(name, "Condition") })
	for _, table := range readTables(t) {
		for i, row := range table.rows {
			line := table.line + 2 + i
			if len(row) != len(table.headings) || slices.Contains(row, "") {
				t.Errorf("line %d: want %d cells with something in them, got %q", line, len(table.headings), row)
			}
			if len(quotedWords(row[0])) == 0 {
				t.Errorf("line %d: the first cell has no word in backticks: %q", line, row[0])
			}
			if len(row) < 2 || table.headings[1] != statusHeading {
				continue
			}
			for _, word := range quotedWords(row[1]) {
				if !slices.Contains(conditions, word) {
					t.Errorf("line %d: there is no condition `%s`", line, word)
				}
			}
		}
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// constants returns the values of the string constants in a folder that are chosen by their name and by the name of
// their type. It finds some, or the test ends: a comparison with nothing would prove nothing.
func constants(t *testing.T, folder string, chosen func(name, typeName string) bool) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.CONST {
				values = append(values, constantsOf(t, group, chosen)...)
			}
		}
	}
	if len(values) == 0 {
		t.Fatalf("%s has no such constants", folder)
	}
	return values
}

func constantsOf(t *testing.T, group *ast.GenDecl, chosen func(name, typeName string) bool) []string {
	t.Helper()
	var values []string
	for _, spec := range group.Specs {
		constant := spec.(*ast.ValueSpec)
		typeName := ""
		if named, ok := constant.Type.(*ast.Ident); ok {
			typeName = named.Name
		}
		for i, name := range constant.Names {
			if !chosen(name.Name, typeName) {
				continue
			}
			if i >= len(constant.Values) {
				t.Fatalf("%s has no value of its own", name.Name)
			}
			literal, ok := constant.Values[i].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				t.Fatalf("%s is not written as a text, so this test cannot read it", name.Name)
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatalf("%s: %v", name.Name, err)
			}
			values = append(values, value)
		}
	}
	return values
}

// table is one table of the page.
type table struct {
	line     int // of its headings, from 1
	headings []string
	rows     [][]string
}

// readTables returns all tables of the page. It finds some, or the test ends.
func readTables(t *testing.T) []table {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), page))
	if err != nil {
		t.Fatal(err)
	}
	var tables []table
	inside := 0 // lines of the table so far
	for i, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "|") {
			inside = 0
			continue
		}
		switch inside++; inside {
		case 1:
			tables = append(tables, table{line: i + 1, headings: cells(line)})
		case 2: // |---|---|
		default:
			last := &tables[len(tables)-1]
			last.rows = append(last.rows, cells(line))
		}
	}
	if len(tables) == 0 {
		t.Fatalf("%s has no tables", page)
	}
	return tables
}

// cells returns what stands between the bars of a line.
func cells(line string) []string {
	list := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func quotedWords(cell string) []string {
	var words []string
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		words = append(words, match[1])
	}
	return words
}
