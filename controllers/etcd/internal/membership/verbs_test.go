package membership

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

func TestEachVerbHasARow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "verbs.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Verb" {
			return true
		}
		declared++
		verb := Verb(spec.Names[0].Name)
		row, ok := verbs[verb]
		if !ok {
			t.Errorf("%s has no row", verb)
		}
		if does := verb != Idle && verb != Wait && verb != Block; does != (row.phrase != "") {
			t.Errorf("%s says %q", verb, row.phrase)
		}
		// These four change nothing that is recorded.
		unrecorded := slices.Contains([]Verb{CreateFetchPod, DeleteFetchPod, CreateUpgradeBackup, DeleteUpgradeBackup}, verb)
		if row.phrase != "" && !row.changes && !row.removesPod && !unrecorded {
			t.Errorf("%s does nothing", verb)
		}
		return true
	})
	if declared == 0 || declared != len(verbs) {
		t.Errorf("%d verbs are declared, and %d have a row", declared, len(verbs))
	}
}
