package topology

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// A verb without a row would be done by an operator that is not in charge.
func TestEachVerbHasARow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "verbs.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	for _, declared := range file.Decls {
		group, ok := declared.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			constants++
			value := spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value
			name, err := strconv.Unquote(value)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := Verbs[Verb(name)]; !ok {
				t.Errorf("%s has no row", name)
			}
		}
	}
	if constants != len(Verbs) {
		t.Errorf("%d rows, and %d verbs", len(Verbs), constants)
	}
}

// What an operator does that is not in charge must not change who is master or who may confirm writes.
func TestWhatNeedsCharge(t *testing.T) {
	for verb, traits := range Verbs {
		if !traits.Acts && (traits.NeedsCharge || traits.Changes) {
			t.Errorf("%s does nothing, and %+v", verb, traits)
		}
	}
	for _, verb := range []Verb{Fence, Promote, SwitchOver, StepDown, RecordMaster, AttachReplicas, RemoveMembers, SetMinReplicas, DeletePod, DeleteSilentPod,
		ExpelUnrecorded, EndMastership, StampVolumes, CreateRestorePod, LoadBackup, DeleteRestorePod} {
		if !Verbs[verb].NeedsCharge {
			t.Errorf("%s is done by any leader", verb)
		}
	}
}
