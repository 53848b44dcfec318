package redis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// What a step gives as the reason for a change of the master is shown to users, too.
func TestEachChangeOfTheMasterHasAMessage(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/common/v1/reasons.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	reasons := 0
	for _, decl := range file.Decls {
		constants, ok := decl.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST || constants.Doc == nil || !strings.HasPrefix(constants.Doc.List[0].Text, ofChanges) {
			continue
		}
		for _, spec := range constants.Specs {
			reasons++
			reason, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil || changeMessages[reason] == "" {
				t.Errorf("%q has no message: %v", reason, err)
			}
		}
	}
	if alongside := 1; reasons == 0 || len(changeMessages) != reasons+alongside || changeMessages[commonv1.ReasonDiskError] == "" {
		t.Errorf("%d messages for %d reasons and DiskError", len(changeMessages), reasons)
	}
}

// ofChanges starts the comment of the reasons for a change of the master.
const ofChanges = "// Reasons for a change of a Redis master"

func TestReasonsOfV010AreReplaced(t *testing.T) {
	for was, want := range map[string]string{
		"its pod is going": commonv1.ReasonMasterTerminating, "Recovering": commonv1.ReasonRecovering, "of a later release": "of a later release",
	} {
		last := &cachev1alpha1.RedisFailover{Reason: was}
		if replaceFormerReason(last); last.Reason != want {
			t.Errorf("%q became %q, want %q", was, last.Reason, want)
		}
	}
	for was, reason := range reasonsOfV010 {
		if changeMessages[reason] == "" {
			t.Errorf("%q becomes %q, which is no reason for a change", was, reason)
		}
	}
	replaceFormerReason(nil) // before the first change
}
