package topology_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestAVerbWithoutARowNeedsCharge(t *testing.T) {
	if traits := (topology.Step{Do: "Unknown"}).Traits(); !traits.Acts || !traits.NeedsCharge || !traits.Changes {
		t.Errorf("%+v", traits)
	}
}

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
			if _, ok := topology.Verbs()[topology.Verb(name)]; !ok {
				t.Errorf("%s has no row", name)
			}
		}
	}
	if constants != len(topology.Verbs()) {
		t.Errorf("%d rows, and %d verbs", len(topology.Verbs()), constants)
	}
}

// What an operator does that is not in charge must not change who is master or who may confirm writes.
func TestWhatNeedsCharge(t *testing.T) {
	for verb, traits := range topology.Verbs() {
		if !traits.Acts && (traits.NeedsCharge || traits.Changes) {
			t.Errorf("%s does nothing, and %+v", verb, traits)
		}
	}
	for _, verb := range []topology.Verb{
		topology.Fence, topology.Promote, topology.SwitchOver, topology.StepDown, topology.RecordMaster, topology.AttachReplicas,
		topology.RemoveMembers,
		topology.SetMinReplicas, topology.DeletePod, topology.DeleteSilentPod,
		topology.ExpelUnrecorded, topology.EndMastership, topology.StampVolumes, topology.CreateRestorePod, topology.LoadBackup,
		topology.DeleteRestorePod,
	} {
		if !topology.Verbs()[verb].NeedsCharge {
			t.Errorf("%s is done by any leader", verb)
		}
	}
}
