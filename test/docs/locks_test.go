package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const locksPage = "docs/goroutines.md"

// namedLock is a lock in the first column of a table on the page: a field of a type, or a variable in a function.
var namedLock = regexp.MustCompile("`(\\w+\\.\\w+)`|`(\\w+)` in `(\\w+)`")

// The page answers which lock protects what, so it has exactly the locks of the code.
func TestEveryLockIsExplained(t *testing.T) {
	inCode, onPage := locksOf(t, root(t)), locksOn(readPage(t, locksPage))
	if len(inCode) < 10 {
		t.Errorf("only %d locks were found in the code: %v", len(inCode), inCode)
	}
	for _, lock := range inCode {
		if !slices.Contains(onPage, lock) {
			t.Errorf("%s does not explain the lock %s", locksPage, lock)
		}
	}
	for _, lock := range onPage {
		if !slices.Contains(inCode, lock) {
			t.Errorf("%s explains the lock %s, which the code does not have", locksPage, lock)
		}
	}
}

func TestLocksInSource(t *testing.T) {
	source := "package p\ntype queue struct { mu sync.Mutex; changed *sync.Cond; n int }\ntype flag struct{ atomic.Bool }\n" +
		"func run() { var once sync.Once; var wg sync.WaitGroup; var n int }\nfunc dial(seen *atomic.Bool) {}\n"
	want := []string{"flag.Bool", "once in run", "queue.changed", "queue.mu"}
	if got := locksIn(t, "source.go", source); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// locksOf returns the locks and atomic values of the product, as the page names them.
func locksOf(t *testing.T, base string) []string {
	t.Helper()
	locks := locksIn(t, filepath.Join(base, "main.go"), nil)
	err := filepath.WalkDir(filepath.Join(base, "controllers"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			locks = append(locks, locksIn(t, path, nil)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return locks
}

func locksIn(t *testing.T, path string, source any) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var locks []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.GenDecl:
			locks = append(locks, fieldLocks(decl)...)
		case *ast.FuncDecl:
			for _, variable := range localLocks(decl) {
				locks = append(locks, variable+" in "+decl.Name.Name)
			}
		}
	}
	slices.Sort(locks)
	return locks
}

// fieldLocks returns the fields of structs that are locks; an embedded one has the name of its type.
func fieldLocks(decl *ast.GenDecl) []string {
	var locks []string
	for _, spec := range decl.Specs {
		declared, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		structure, ok := declared.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range structure.Fields.List {
			typeName := lockType(field.Type)
			if typeName != "" && len(field.Names) == 0 {
				locks = append(locks, declared.Name.Name+"."+typeName)
			}
			for _, name := range field.Names {
				if typeName != "" {
					locks = append(locks, declared.Name.Name+"."+name.Name)
				}
			}
		}
	}
	return locks
}

// localLocks returns the variables of a function that are locks.
func localLocks(function *ast.FuncDecl) []string {
	var locks []string
	ast.Inspect(function, func(node ast.Node) bool {
		if declared, ok := node.(*ast.ValueSpec); ok && lockType(declared.Type) != "" {
			for _, name := range declared.Names {
				locks = append(locks, name.Name)
			}
		}
		return true
	})
	return locks
}

// lockType returns the name of a type of sync that protects something, or of sync/atomic; otherwise nothing.
func lockType(expr ast.Expr) string {
	if pointer, ok := expr.(*ast.StarExpr); ok {
		expr = pointer.X
	}
	if generic, ok := expr.(*ast.IndexExpr); ok {
		expr = generic.X
	}
	selector, ok := expr.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch pkg, ok := selector.X.(*ast.Ident); {
	case !ok, pkg.Name == "sync" && selector.Sel.Name == "WaitGroup":
		return ""
	case pkg.Name == "sync", pkg.Name == "atomic":
		return selector.Sel.Name
	}
	return ""
}

// locksOn returns the locks in the first column of the tables of locks.
func locksOn(page string) []string {
	_, section, _ := strings.Cut(page, "\n## Locks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var locks []string
	for line := range strings.SplitSeq(section, "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, found := range namedLock.FindAllStringSubmatch(cells(line)[0], -1) {
			if found[1] != "" {
				locks = append(locks, found[1])
			} else {
				locks = append(locks, found[2]+" in "+found[3])
			}
		}
	}
	return locks
}
