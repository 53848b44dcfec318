package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// All mutants of a package are built at once: each function has, besides its own body, one for each
// of its mutants, and a variable of the environment chooses ("mutant schemata", Untch, Offutt and
// Harrold, ISSTA 1993). A build for each mutant took twenty times as long.

const (
	// root of the repository.
	root = "../.."
	// controller that faults are planted into.
	controller = "controllers/redis"
	// choice is the variable that names the mutants to run, one a line.
	choice = "MUTANTS"
)

// chooser is a file that each package with mutants gets.
const chooser = `package %s

import (
	"os"
	"slices"
	"strings"
)

var chosenMutants = strings.Split(os.Getenv(%q), "\n")

func chosen(mutant string) bool { return slices.Contains(chosenMutants, mutant) }
`

// build the test program of a directory, with all mutants: also those of the packages that it imports.
func build(t *testing.T, dir string) string {
	t.Helper()
	made, replace := t.TempDir(), map[string]string{}
	write := func(folder, name, content string) {
		at := filepath.Join(made, strconv.Itoa(len(replace))+"-"+name)
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(folder, name)] = at
	}
	for dir, mutants := range byDir(planted) {
		folder := folderOf(t, dir)
		for name, content := range plantAll(t, folder, mutants) {
			write(folder, name, content)
		}
		write(folder, "chooser.go", fmt.Sprintf(chooser, filepath.Base(folder), choice))
	}
	// https://pkg.go.dev/cmd/go#hdr-Compile_packages_and_dependencies
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(made, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(made, "program.test")
	compile := exec.Command("go", "test", "-c", "-ldflags=-w", "-o", program, "-overlay", list, ".")
	compile.Dir = folderOf(t, dir)
	if output, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s with all mutants: %v\n%s", dir, err, output)
	}
	return program
}

func folderOf(t *testing.T, dir string) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join(root, controller, dir))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// plantAll gives the files of one folder, by name, with these mutants planted.
func plantAll(t *testing.T, folder string, mutants []mutant) map[string]string {
	t.Helper()
	byFile, planted := map[string][]mutant{}, map[string]string{}
	for _, m := range mutants {
		byFile[filepath.Base(m.file)] = append(byFile[filepath.Base(m.file)], m)
	}
	for name, all := range byFile {
		source, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if planted[name], err = plant(string(source), all); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return planted
}

// plant mutants of one file into its source.
func plant(source string, mutants []mutant) (string, error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, "", source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var planted strings.Builder
	written, places := 0, map[string]int{}
	for _, declared := range file.Decls {
		function, is := declared.(*ast.FuncDecl)
		if !is {
			continue
		}
		from, to := positions.Position(function.Body.Lbrace).Offset+1, positions.Position(function.Body.Rbrace).Offset
		var bodies strings.Builder
		for _, m := range mutants {
			body := source[from:to]
			if found := m.oldText().FindAllStringIndex(body, 2); len(found) == 1 {
				fmt.Fprintf(&bodies, "case chosen(%q):\n%s\n", m.name, body[:found[0][0]]+m.new+body[found[0][1]:])
				if function.Type.Results == nil {
					bodies.WriteString("return\n")
				}
				places[m.name]++
			}
		}
		if bodies.Len() > 0 {
			fmt.Fprintf(&planted, "%s\nswitch {\n%s}\n", source[written:from], bodies.String())
			written = from
		}
	}
	var errs []error
	for _, m := range mutants {
		if places[m.name] != 1 {
			errs = append(errs, fmt.Errorf("%q has %d places where its old text is once in a function", m.name, places[m.name]))
		}
	}
	return planted.String() + source[written:], errors.Join(errs...)
}
