package v1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// Anyone who reads a reason in a condition, an event or a metric finds the constant by its name.
func TestAReasonHasTheNameOfItsString(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		constants++
		if name, value := spec.Names[0].Name, spec.Values[0].(*ast.BasicLit).Value; `"`+name+`"` != `"Reason`+value[1:] {
			t.Errorf("%s is %s", name, value)
		}
		return false
	})
	if constants == 0 {
		t.Error("there are none")
	}
}
