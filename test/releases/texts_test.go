package releases

import (
	"context"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// unboundedTexts are parts of specs whose texts have no bound of their own, each with the reason. The API server takes no
// object of more than 3 MiB, and reading one costs in proportion to that.
var unboundedTexts = map[string]string{
	"spec.affinity": "Kubernetes' own type, of lists in lists: bounds as rules are estimated to cost the API server too " +
		"much, and OLM checks stored objects against others",
	"spec.topologySpreadConstraints": "as affinity: they have label selectors",
	"spec.networkPolicy.from":        "as affinity: it has label selectors",
	"spec.probes":                    "Kubernetes' own type, of some 50 texts: each would need a rule",
	"spec.volumes":                   "Kubernetes' own type, of some 130 texts",
	"spec.volumeMounts":              "Kubernetes' own type; it names volumes",
	"spec.resources.claims":          "Kubernetes' own type, which the operator does not read",
	"spec.proxy.resources.claims":    "as resources.claims",
	"spec.envs[].valueFrom":          "Kubernetes' own type: references to objects and fields",
}

// texts are the spots of a schema with a text, or a key, that the schema itself does not bound.
func texts(of apiextensionsv1.JSONSchemaProps, path ...string) []spot {
	if of.Type == "string" && of.MaxLength == nil && len(of.Enum) == 0 && of.Format == "" {
		return []spot{{path: slices.Clone(path), schema: of}}
	}
	var found []spot
	for name, property := range of.Properties {
		found = append(found, texts(property, append(path, name)...)...)
	}
	if of.Items != nil {
		found = append(found, texts(*of.Items.Schema, append(path, "[]")...)...)
	}
	if of.AdditionalProperties != nil && of.AdditionalProperties.Schema != nil {
		found = append(found, texts(*of.AdditionalProperties.Schema, append(path, "{}")...)...)
	}
	return found
}

// TestEveryTextHasABound: the spec's, since only the operator may write a status. A text that was released without one is
// bounded by a rule, which stored objects do not have to meet.
func TestEveryTextHasABound(t *testing.T) {
	const length = 300_000 // more than a Secret's or an annotation's 256 KiB
	used := map[string]bool{}
	eachVersion(t, func(t *testing.T, _ schema.GroupVersionKind, s *Schema, root apiextensionsv1.JSONSchemaProps) {
		for _, spot := range texts(root.Properties["spec"], "spec") {
			if part := partOf(spot.String()); part != "" {
				used[part] = true
				continue
			}
			obj := with(nil, spot.path, strings.Repeat("a", length)).(map[string]any)
			if spot.String() == "spec.envs[].value" {
				with(obj, []string{"spec", "envs", "[]", "name"}, "a")
			}
			refusals, _ := s.rules.Validate(context.Background(), nil, s.structural, obj, nil, celconfig.RuntimeCELCostBudget)
			list, _, _ := strings.Cut(spot.String(), "[]")
			list, _, _ = strings.Cut(list, "{}")
			found := false
			for _, e := range refusals {
				found = found || e.Field == list && strings.Contains(e.Detail, " at most ") && !strings.Contains(e.Detail, "no such key")
			}
			if !found {
				t.Errorf("%s may have %d characters: give it a MaxLength, or a rule if a release has it without (%v)", spot, length, refusals)
			}
		}
	})
	for part := range unboundedTexts {
		if !used[part] {
			t.Errorf("no spec has a text without a bound in %s: take it out of unboundedTexts", part)
		}
	}
}

// partOf is the part without bounds that a text is in, "" for none.
func partOf(text string) string {
	for part := range unboundedTexts {
		if strings.HasPrefix(text, part+".") || strings.HasPrefix(text, part+"[") {
			return part
		}
	}
	return ""
}
