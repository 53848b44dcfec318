package releases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/mainstay-operator/mainstay-operator/hack/crdbounds/activity"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// isPermitted reports whether a field that may change may do so from one value to another. A request to end the run cannot be
// taken back.
func isPermitted(name string, before any) bool { return name != "cancel" || before != true }

// activityValues are values, in YAML, that a field of an Activity's spec may have, two
// at least. Each is valid together with the first ones of all other fields, so that nothing but
// a rule about changes can refuse the update from one to another.
var activityValues = map[string][]string{
	"affinity": {
		`{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ` +
			`[{matchExpressions: [{key: a, operator: Exists}]}]}}}`,
		`{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ` +
			`[{matchExpressions: [{key: b, operator: Exists}]}]}}}`,
		`{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]}}`,
	},
	"args":             {`[a]`, `[b]`, `[a, b]`},
	"cancel":           {`false`, `true`},
	"command":          {`echo a`, `echo b`},
	"envFrom":          {`[{configMapRef: {name: a}}]`, `[{configMapRef: {name: b}}]`, `[{secretRef: {name: a}}]`},
	"envs":             {`[A=1]`, `[A=2]`, `[A=1, B=1]`},
	"execcwd":          {`/a`, `/b`},
	"execuser":         {`nobody`, `"1000:1000"`},
	"host":             {`a`, `b`},
	"image":            {`busybox:1`, `busybox:2`},
	"imagePullPolicy":  {`Always`, `Never`},
	"imagePullSecrets": {`[{name: a}]`, `[{name: b}]`},
	"nodeSelector":     {`{a: "1"}`, `{a: "2"}`, `{b: "1"}`},
	"output":           {`{tailBytes: 0}`, `{tailBytes: 1}`},
	"podAnnotations":   {`{a: "1"}`, `{a: "2"}`, `{b: "1"}`},
	"podLabels":        {`{a: "1"}`, `{a: "2"}`, `{b: "1"}`},

	"priorityClassName": {`a`, `b`},
	"resources":         {`{requests: {cpu: "1"}}`, `{requests: {cpu: "2"}}`},
	"retries":           {`1`, `2`},
	"retryPolicy": {`{causes: [Failed]}`, `{causes: [TimedOut]}`, `{causes: [Failed], backoff: 1s}`,
		`{causes: [Failed], exitCodes: {failOn: [64]}}`},
	"security":                      {`Restricted`, `Baseline`},
	"startDeadline":                 {`1m`, `2m`},
	"suspend":                       {`false`, `true`},
	"terminationGracePeriodSeconds": {`1`, `2`},
	"timeout":                       {`1m`, `2m`},
	"tolerations":                   {`[{key: a, operator: Exists}]`, `[{key: b, operator: Exists}]`},
	"topologySpreadConstraints": {
		`[{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]`,
		`[{maxSkew: 2, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]`,
	},
	"ttlSecondsAfterFinished": {`1`, `2`},
	"workspace":               {`{claimName: a}`, `{claimName: b}`, `{claimName: a, path: /a}`, `{size: 1Gi}`},
}

// whatToDo says to a developer who adds a field what this test asks of it.
const whatToDo = `
A field is immutable unless MutableFields of hack/crdbounds/activity has it: "make manifests" writes the rule.
The rule needs the field to be there always, so give the field a default in its Go type.
Do it before the field is released: no rule can be added later.
If it may change, add it to that list with the reason.
In both cases give two valid values of it in activityValues of test/releases/immutability_test.go.`

// TestAnActivityCannotBeChanged checks, for each field that the CRD's spec has, that an
// API server refuses every update of an Activity that changes this field alone, or
// that the field is one of those that may change. So none comes to be mutable unnoticed.
func TestAnActivityCannotBeChanged(t *testing.T) {
	c := newUpdateCheck(t, activityCRD(t))
	for _, name := range slices.Sorted(maps.Keys(c.spec.Properties)) {
		t.Run(name, func(t *testing.T) {
			if err := c.check(name); err != nil {
				t.Error(err)
			}
		})
	}
	// A field that is gone or renamed would leave its name behind, and a developer who reuses
	// the name for something else would find it on the list.
	for _, name := range slices.Concat(activity.MutableFields, slices.Collect(maps.Keys(activityValues))) {
		if _, ok := c.spec.Properties[name]; !ok {
			t.Errorf("the spec has no field %s: take it out of MutableFields and activityValues", name)
		}
	}
}

// TestAChangeThatIsNotRefusedIsFound takes rules from the CRD, or adds to it, and checks
// that the check above reports them. Otherwise one that finds nothing would look like success.
func TestAChangeThatIsNotRefusedIsFound(t *testing.T) {
	frozen := apiextensionsv1.ValidationRules{{Rule: "self == oldSelf", Message: "it cannot be changed"}}
	change := func(name string, by func(*apiextensionsv1.JSONSchemaProps)) func(*apiextensionsv1.JSONSchemaProps) {
		return func(spec *apiextensionsv1.JSONSchemaProps) {
			property := spec.Properties[name]
			by(&property)
			spec.Properties[name] = property
		}
	}
	for _, test := range []struct {
		name, field string
		plant       func(spec *apiextensionsv1.JSONSchemaProps)
		words       string
	}{
		{"a field that was not planned", "planted",
			change("planted", func(p *apiextensionsv1.JSONSchemaProps) { p.Type = "string" }), "planted: activityValues has fewer than two values"},
		{"a spec without rules", "command",
			func(spec *apiextensionsv1.JSONSchemaProps) { spec.XValidations = nil },
			"command: an update from echo a to echo b is accepted, and MutableFields does not have it.\nA field is immutable unless"},
		{"a field without its rule", "envFrom",
			change("envFrom", func(p *apiextensionsv1.JSONSchemaProps) { p.XValidations = nil }), "is accepted"},
		// A field's own rule is not asked when the field comes or goes: it compares two values.
		{"a field without its default", "envFrom",
			change("envFrom", func(p *apiextensionsv1.JSONSchemaProps) { p.Default = nil }), "to nothing is accepted"},
		{"a rule that does not name its field", "envFrom",
			change("envFrom", func(p *apiextensionsv1.JSONSchemaProps) { p.XValidations[0].Message = "it cannot be changed" }),
			"not by a rule whose message names the field"},
		{"a rule that refuses all updates", "host",
			func(spec *apiextensionsv1.JSONSchemaProps) {
				spec.XValidations = append(spec.XValidations, apiextensionsv1.ValidationRule{Rule: "self.command != oldSelf.command", Message: "no"})
			}, "no update at all"},
		{"a mutable field that cannot be changed", "suspend",
			change("suspend", func(p *apiextensionsv1.JSONSchemaProps) { p.XValidations = frozen }),
			"suspend: an update from false to true is refused"},
		{"a cancel that can be taken back", "cancel",
			func(spec *apiextensionsv1.JSONSchemaProps) {
				spec.XValidations = slices.DeleteFunc(spec.XValidations,
					func(r apiextensionsv1.ValidationRule) bool { return strings.Contains(r.Rule, "oldSelf.cancel") })
			}, "cancel: an update from true to false is accepted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			crd := activityCRD(t)
			properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
			spec := properties["spec"]
			test.plant(&spec)
			properties["spec"] = spec
			err := newUpdateCheck(t, crd).check(test.field)
			if err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("want %q, got %v", test.words, err)
			}
		})
	}
}

// TestEveryImmutableFieldOwesItToARule takes all rules about changes from the CRD at once:
// then the check must find each field that may not change. One whose values an API
// server refuses for another reason would pass it whatever the rules say.
func TestEveryImmutableFieldOwesItToARule(t *testing.T) {
	crd := activityCRD(t)
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	spec := properties["spec"]
	transition := func(r apiextensionsv1.ValidationRule) bool { return strings.Contains(r.Rule, "oldSelf") }
	spec.XValidations = slices.DeleteFunc(spec.XValidations, transition)
	for name, property := range spec.Properties {
		property.XValidations = slices.DeleteFunc(property.XValidations, transition)
		spec.Properties[name] = property
	}
	properties["spec"] = spec
	c := newUpdateCheck(t, crd)
	found := 0
	for _, name := range slices.Sorted(maps.Keys(spec.Properties)) {
		if slices.Contains(activity.MutableFields, name) {
			continue
		}
		found++
		t.Run(name, func(t *testing.T) {
			if err := c.check(name); err == nil || !strings.Contains(err.Error(), name+": an update from ") ||
				!strings.Contains(err.Error(), " is accepted") {
				t.Errorf("no rule is left, and yet the check does not say that it can be changed: %v", err)
			}
		})
	}
	if found == 0 {
		t.Error("every field may change: there is nothing to check")
	}
}

// activityCRD reads the CRD as controller-gen made it of the Go types.
func activityCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	crd, err := ReadCRD(filepath.Join(root, "config/crd/bases/ego.mainstay-operator.io_activities.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(crd.Spec.Versions) != 1 {
		t.Fatalf("the CRD has %d versions: each has rules of its own, check them all", len(crd.Spec.Versions))
	}
	return crd
}

// updateCheck asks what an API server with a CRD says of updates of a spec.
type updateCheck struct {
	schema *Schema
	spec   apiextensionsv1.JSONSchemaProps
}

func newUpdateCheck(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) updateCheck {
	t.Helper()
	schema, err := SchemaOf(crd, crd.Spec.Versions[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	if len(spec.Properties) == 0 {
		t.Fatal("the CRD's spec has no field")
	}
	return updateCheck{schema: schema, spec: spec}
}

// check one field: with all its values and with none, from each to each other, in a spec
// that sets only what it must and in one that sets all.
func (u updateCheck) check(name string) error {
	var values []any
	for _, text := range activityValues[name] {
		value, err := parsed(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		values = append(values, value)
	}
	if len(values) < 2 {
		return fmt.Errorf("%s: activityValues has fewer than two values of it, so it is not known whether it can be changed.%s", name, whatToDo)
	}
	if !slices.Contains(u.spec.Required, name) {
		values = append(values, nil)
	}
	for _, others := range []func(string) bool{
		func(other string) bool { return slices.Contains(u.spec.Required, other) },
		func(string) bool { return true },
	} {
		if err := u.checkWithOthers(others, name, values); err != nil {
			return err
		}
	}
	return nil
}

// checkWithOthers checks one field in specs that set some others.
func (u updateCheck) checkWithOthers(others func(string) bool, name string, values []any) error {
	objects := make([]*unstructured.Unstructured, len(values))
	for i, value := range values {
		obj, err := u.object(others, name, value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		objects[i] = obj
	}
	changes := 0
	for i, before := range objects {
		for j, after := range objects {
			if reflect.DeepEqual(before.Object, after.Object) {
				continue // the same value, or its default
			}
			changes++
			if err := u.checkUpdate(name, before, after, values[i], values[j]); err != nil {
				return err
			}
		}
	}
	if changes < 2 {
		return fmt.Errorf("%s: its values are the same to an API server, so no update was checked", name)
	}
	return nil
}

// checkUpdate checks that one update is refused, for the sake of the field that it changes,
// or accepted, as the field's place on the list wants it.
func (u updateCheck) checkUpdate(name string, before, after *unstructured.Unstructured, was, is any) error {
	broken, _ := u.schema.rules.Validate(context.Background(), nil, u.schema.structural, after.Object, before.Object,
		celconfig.RuntimeCELCostBudget)
	update := fmt.Sprintf("%s: an update from %s to %s", name, words(was), words(is))
	mutable := slices.Contains(activity.MutableFields, name)
	switch {
	case mutable && isPermitted(name, was):
		if len(broken) > 0 {
			return fmt.Errorf("%s is refused, though the field may change: %w", update, broken.ToAggregate())
		}
	case len(broken) == 0 && mutable:
		return fmt.Errorf("%s is accepted, though the field may not change so", update)
	case len(broken) == 0:
		return fmt.Errorf("%s is accepted, and MutableFields does not have it.%s", update, whatToDo)
	case !slices.ContainsFunc(broken, func(e *field.Error) bool { return namesField(e, name) }):
		return fmt.Errorf("%s is refused, but not by a rule whose message names the field: %w", update, broken.ToAggregate())
	}
	return nil
}

// namesField reports whether a rule was broken, not a limit, and its message names a field.
func namesField(e *field.Error, name string) bool {
	return e.Type == field.ErrorTypeInvalid && regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).MatchString(e.Detail)
}

// object is an Activity as it is stored, with one field of the spec as given, nil for
// none, and the first value of some others. It must be valid, and an update that changes
// nothing accepted: otherwise a refusal would say nothing about the change.
func (u updateCheck) object(others func(string) bool, name string, value any) (*unstructured.Unstructured, error) {
	spec := map[string]any{}
	for other, texts := range activityValues {
		if _, ok := u.spec.Properties[other]; !ok || !others(other) {
			continue
		}
		first, err := parsed(texts[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", other, err)
		}
		spec[other] = first
	}
	delete(spec, name)
	if value != nil {
		spec[name] = value
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ego.mainstay-operator.io/v1", "kind": "Activity",
		"metadata": map[string]any{"name": "a", "namespace": "default"}, "spec": spec,
	}}
	obj = obj.DeepCopy() // defaults are written into it, and values are used again
	if err := errors.Join(u.schema.Read(obj), u.schema.Validate(obj)); err != nil {
		return nil, fmt.Errorf("with %s, no update at all can be checked: %w", words(value), err)
	}
	return obj, nil
}

func parsed(text string) (value any, err error) {
	err = k8syaml.Unmarshal([]byte(text), &value)
	return value, err
}

func words(value any) string {
	if value == nil {
		return "nothing"
	}
	return fmt.Sprint(value)
}
