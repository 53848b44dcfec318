// Package structure measures how the files of a package depend on each other, and how often its functions pass on one type.
package structure

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// Arrow says that a file uses a function, a method, a type or a value that another file of its package declares.
type Arrow struct{ From, To string }

// Measure is what was measured of one package, without its tests.
type Measure struct {
	Files, Lines int
	Arrows       []Arrow
	// Enters counts the functions that a value enters as an argument, by the name of its type. A receiver is no argument.
	Enters map[string]int
	// Passed counts the arguments of calls of the package's own functions, by the name of their type.
	Passed map[string]int
}

// Load measures the packages that the patterns match in a folder, by import path.
func Load(folder string, patterns ...string) (map[string]Measure, error) {
	loaded, err := packages.Load(&packages.Config{Dir: folder, Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("loading %q: %w", patterns, err)
	}
	measures := map[string]Measure{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("loading %s: %w", p.PkgPath, p.Errors[0])
		}
		measures[p.PkgPath] = measure(p)
	}
	return measures, nil
}

func measure(p *packages.Package) Measure {
	m := Measure{Files: len(p.Syntax), Enters: map[string]int{}, Passed: map[string]int{}}
	arrows := map[Arrow]bool{}
	for _, f := range p.Syntax {
		file := p.Fset.Position(f.Pos())
		m.Lines += p.Fset.File(f.Pos()).LineCount()
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if used := p.TypesInfo.Uses[n]; isDeclared(p, used) {
					if to := p.Fset.Position(used.Pos()).Filename; to != file.Filename {
						arrows[Arrow{filepath.Base(file.Filename), filepath.Base(to)}] = true
					}
				}
			case *ast.FuncDecl:
				entering := map[string]bool{}
				for _, parameter := range n.Type.Params.List {
					entering[typeName(p.TypesInfo.TypeOf(parameter.Type))] = true
				}
				for name := range entering {
					m.Enters[name]++
				}
			case *ast.CallExpr:
				if called := calledFunction(p, n); called != nil && called.Pkg() == p.Types {
					for _, argument := range n.Args {
						m.Passed[typeName(p.TypesInfo.TypeOf(argument))]++
					}
				}
			}
			return true
		})
	}
	m.Arrows = slices.SortedFunc(maps.Keys(arrows), func(a, b Arrow) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return m
}

// isDeclared reports whether the package declares the object itself, at its top level or as a method. A field is part of its type.
func isDeclared(p *packages.Package, o types.Object) bool {
	if o == nil || o.Pkg() != p.Types {
		return false
	}
	f, isFunction := o.(*types.Func)
	return o.Parent() == p.Types.Scope() || isFunction && f.Signature().Recv() != nil
}

func calledFunction(p *packages.Package, call *ast.CallExpr) types.Object {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return p.TypesInfo.Uses[f]
	case *ast.SelectorExpr:
		return p.TypesInfo.Uses[f.Sel]
	}
	return nil
}

// typeName is the name of a type, or of what it points to; empty if it has none.
func typeName(t types.Type) string {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// Back returns the arrows that run back up: they lead to a file that a reader met earlier, who started with the first file and
// followed the arrows, all files of one step before those of the next.
func (m Measure) Back(first string) []Arrow {
	steps := map[string]int{first: 0}
	for reading := []string{first}; len(reading) > 0; reading = reading[1:] {
		for _, a := range m.Arrows {
			if _, met := steps[a.To]; a.From == reading[0] && !met {
				steps[a.To] = steps[a.From] + 1
				reading = append(reading, a.To)
			}
		}
	}
	var back []Arrow
	for _, a := range m.Arrows {
		if steps[a.To] < steps[a.From] {
			back = append(back, a)
		}
	}
	return back
}

// Circle returns the files that lead back to themselves, sorted.
func (m Measure) Circle() []string {
	var circle []string
	for _, a := range m.Arrows {
		if !slices.Contains(circle, a.From) && m.leads(a.From, a.From, map[string]bool{}) {
			circle = append(circle, a.From)
		}
	}
	return circle
}

func (m Measure) leads(from, to string, met map[string]bool) bool {
	for _, a := range m.Arrows {
		if a.From != from || met[a.To] {
			continue
		}
		met[a.To] = true
		if a.To == to || m.leads(a.To, to, met) {
			return true
		}
	}
	return false
}
