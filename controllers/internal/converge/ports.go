package converge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lists of ports are keyed by number. To server-side apply, who edits a number
// has taken our item away and made one of his own, and ours put back next to it
// is refused for bearing the same name. Such an edit has to be undone in place,
// which also keeps what the server has allotted to the item.

// patchOperation is one operation of a JSON patch.
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// revertPortEdits undoes foreign edits of port numbers. Without any, it returns the refusal.
func (c *Converger) revertPortEdits(ctx context.Context, want *unstructured.Unstructured, live client.Object, refusal error) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return fmt.Errorf("decoding the live object: %w", err)
	}
	edits := foreignPortEdits(want.Object, fields, "")
	if len(edits) == 0 {
		return refusal
	}
	// The paths are valid for this version only.
	edits = append(edits, patchOperation{"replace", "/metadata/resourceVersion", live.GetResourceVersion()})
	patch, err := json.Marshal(edits)
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	target := live.DeepCopyObject().(client.Object)
	return c.Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(FieldManager))
}

// foreignPortEdits looks for lists of ports with items of a number that we do not want.
func foreignPortEdits(want, live any, path string) []patchOperation {
	var edits []patchOperation
	switch w := want.(type) {
	case map[string]any:
		have, _ := live.(map[string]any)
		for key, value := range w {
			ours, isList := value.([]any)
			theirs, _ := have[key].([]any)
			if key == "ports" && isList && len(ours) > 0 && len(theirs) > 0 {
				if merged, foreign := mergePorts(ours, theirs); foreign {
					edits = append(edits, patchOperation{"replace", path + "/ports", merged})
				}
				continue
			}
			edits = append(edits, foreignPortEdits(value, have[key], path+"/"+key)...)
		}
	case []any: // containers
		have, _ := live.([]any)
		for i, item := range have {
			if ours, ok := byName(w)[itemName(item)]; ok {
				edits = append(edits, foreignPortEdits(ours, item, fmt.Sprintf("%s/%d", path, i))...)
			}
		}
	}
	return edits
}

// mergePorts lays each of our ports over the live one of its number, else of its name. It reports whether the live
// list has a number that we do not want.
func mergePorts(ours, theirs []any) (merged []any, foreign bool) {
	for _, item := range ours {
		onto := map[string]any{}
		for _, same := range []func(a, b any) bool{samePortNumber, sameName} {
			for _, live := range theirs {
				if len(onto) == 0 && same(item, live) {
					maps.Copy(onto, live.(map[string]any))
				}
			}
		}
		maps.Copy(onto, item.(map[string]any))
		merged = append(merged, onto)
	}
	for _, live := range theirs {
		wanted := false
		for _, item := range ours {
			wanted = wanted || samePortNumber(item, live)
		}
		foreign = foreign || !wanted
	}
	return merged, foreign
}

func samePortNumber(a, b any) bool {
	for _, key := range []string{"port", "containerPort"} {
		if asNumber(itemField(a, key)) != asNumber(itemField(b, key)) {
			return false
		}
	}
	return itemProtocol(a) == itemProtocol(b)
}

func sameName(a, b any) bool { return itemName(a) == itemName(b) }

func itemName(item any) string { text, _ := itemField(item, "name").(string); return text }

func itemProtocol(item any) any {
	if p := itemField(item, "protocol"); p != nil {
		return p
	}
	return "TCP" // the server's default
}

func itemField(item any, key string) any {
	fields, _ := item.(map[string]any)
	return fields[key]
}
