// Package gitopstest judges objects as GitOps tools do, for the tests of the kinds: as Flux does by kstatus, and as Argo CD does by
// the health checks in config/gitops.
package gitopstest

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// Verdict is what both tools say of an object.
type Verdict struct {
	Flux status.Status
	Argo string
}

// Verdicts that agree. Argo CD distinguishes what is done from what is held back as asked for; Flux does not.
var (
	InProgress = Verdict{status.InProgressStatus, "Progressing"}
	Current    = Verdict{status.CurrentStatus, "Healthy"}
	Failed     = Verdict{status.FailedStatus, "Degraded"}
	Suspended  = Verdict{status.CurrentStatus, "Suspended"}
)

// Check completes the status that a kind has computed, as the end of a pass does, and checks what both tools say of the object. It also
// checks that both wait once the spec is edited, until the operator has seen the edit.
func Check(t *testing.T, object converge.Object, want Verdict) {
	t.Helper()
	object.SetGeneration(max(object.GetGeneration(), 1))
	object.SetObservedGeneration(object.GetGeneration())
	conditions.Finish(object.GetConditions(), nil)
	if got := judge(t, object); got != want {
		t.Errorf("got %+v, not %+v, by the conditions %+v", got, want, *object.GetConditions())
	}
	edited := object.DeepCopyObject().(converge.Object)
	edited.SetGeneration(object.GetGeneration() + 1)
	if got := judge(t, edited); got != InProgress {
		t.Errorf("after an edit: got %+v", got)
	}
}

// CheckUnseen checks that both tools wait for an object that the operator has not seen yet. defaultStatus is what the API server sets.
func CheckUnseen(t *testing.T, object converge.Object, defaultStatus []byte) {
	t.Helper()
	object.SetGeneration(1)
	u := toUnstructured(t, object)
	var content map[string]any
	if err := json.Unmarshal(defaultStatus, &content); err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = content
	if got := judgeUnstructured(t, kindOf(object), u); got != InProgress {
		t.Errorf("got %+v", got)
	}
}

func judge(t *testing.T, object converge.Object) Verdict {
	t.Helper()
	return judgeUnstructured(t, kindOf(object), toUnstructured(t, object))
}

func judgeUnstructured(t *testing.T, kind string, u *unstructured.Unstructured) Verdict {
	t.Helper()
	result, err := status.Compute(u)
	if err != nil {
		t.Fatal(err)
	}
	health, message, err := runHealthCheck(healthCheck(t, kind), u)
	if err != nil {
		t.Fatal(err)
	}
	if message == "" || result.Status == status.FailedStatus && message != result.Message {
		t.Errorf("Argo CD shows %q, and Flux %q", message, result.Message)
	}
	return Verdict{result.Status, health}
}

// kindOf returns the kind of an object: its type has that name.
func kindOf(object converge.Object) string { return reflect.TypeOf(object).Elem().Name() }

// toUnstructured returns the object as the API server sends it.
func toUnstructured(t *testing.T, object converge.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// readManifest returns the content of a file of this repository.
func readManifest(t *testing.T, path string) []byte {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
