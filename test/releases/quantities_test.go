package releases

import (
	"context"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/mainstay-operator/mainstay-operator/api"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// costlyQuantities take resource.ParseQuantity megabytes or far longer than their length. They are the smallest of their
// kind, so that the tests end, too, when a bound is missing.
var costlyQuantities = []string{
	"1e-2000000", "1E-2000000", "-1e-2000000", "0e2000000", "1e2000000", "1.5e+2000000", ".5e-2000000", "1e-0002000000",
	strings.Repeat("9", 60_000), "0." + strings.Repeat("0", 60_000) + "1", strings.Repeat("1", 60_000) + "Ki",
}

// allocatedBy is how many bytes a call allocates, those of other goroutines included: no test of the package is parallel.
func allocatedBy(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// affordable is how many bytes may be allocated for an object: some for its kind's rules or fields, and some for each of
// its bytes. Reading 1e-2000000 alone takes megabytes.
func affordable(length int) uint64 { return 512<<10 + 64*uint64(length) }

// spot is where an object has a quantity.
type spot struct {
	path   []string // "[]" leads into a list, "{}" into a map
	schema apiextensionsv1.JSONSchemaProps
}

func (s spot) String() string {
	return strings.NewReplacer(".[]", "[]", ".{}", "{}").Replace(strings.Join(s.path, "."))
}

// quantities are the spots of a schema that have one.
func quantities(of apiextensionsv1.JSONSchemaProps, path ...string) []spot {
	if of.XIntOrString && strings.Contains(of.Pattern, "KMGTPE") {
		return []spot{{path: slices.Clone(path), schema: of}}
	}
	var found []spot
	for name, property := range of.Properties {
		found = append(found, quantities(property, append(path, name)...)...)
	}
	if of.Items != nil {
		found = append(found, quantities(*of.Items.Schema, append(path, "[]")...)...)
	}
	if of.AdditionalProperties != nil && of.AdditionalProperties.Schema != nil {
		found = append(found, quantities(*of.AdditionalProperties.Schema, append(path, "{}")...)...)
	}
	return found
}

// with puts a value at a path into an object, and returns where it is.
func with(obj any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "[]" {
		list, _ := obj.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = with(list[0], path[1:], value)
		return list
	}
	key := path[0]
	if key == "{}" {
		key = "storage" // every such map takes it
	}
	fields, _ := obj.(map[string]any)
	if fields == nil {
		fields = map[string]any{}
	}
	fields[key] = with(fields[key], path[1:], value)
	return fields
}

// eachKind runs a test for every kind, with the quantities that it has.
func eachKind(t *testing.T, test func(t *testing.T, kind schema.GroupVersionKind, s *Schema, spots []spot)) {
	found := 0
	eachVersion(t, func(t *testing.T, kind schema.GroupVersionKind, s *Schema, root apiextensionsv1.JSONSchemaProps) {
		spots := quantities(root)
		found += len(spots)
		test(t, kind, s, spots)
	})
	if found == 0 {
		t.Error("no kind has a quantity")
	}
}

// eachVersion runs a test for every version of every CRD.
func eachVersion(t *testing.T, test func(t *testing.T, kind schema.GroupVersionKind, s *Schema, root apiextensionsv1.JSONSchemaProps)) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "config/crd/bases/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no CRD: %v", err)
	}
	for _, file := range files {
		crd, err := ReadCRD(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			s, err := SchemaOf(crd, version.Name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(kind.Kind, func(t *testing.T) { test(t, kind, s, *version.Schema.OpenAPIV3Schema) })
		}
	}
}

// TestTheSchemaRefusesCostlyQuantities: at every spot, by a rule, and at a cost in proportion to the text. A pattern would not
// do: OLM checks stored objects against it before an upgrade, so that one object would stop that for everybody.
func TestTheSchemaRefusesCostlyQuantities(t *testing.T) {
	eachKind(t, func(t *testing.T, _ schema.GroupVersionKind, s *Schema, spots []spot) {
		for _, spot := range spots {
			for _, text := range costlyQuantities {
				var refusals field.ErrorList
				obj := with(nil, spot.path, text).(map[string]any)
				cost := allocatedBy(func() {
					refusals, _ = s.rules.Validate(context.Background(), nil, s.structural, obj, nil, celconfig.RuntimeCELCostBudget)
				})
				if cost > affordable(len(text)) {
					t.Errorf("%s: %.20s: its rules allocate %d bytes", spot, text, cost)
				}
				if !refuses(refusals, spot) {
					t.Errorf("%s: %.20s is not refused: %v", spot, text, refusals)
				}
			}
		}
	})
}

// refuses reports whether a value, or the map that has it, was refused.
func refuses(refusals field.ErrorList, at spot) bool {
	path := strings.TrimSuffix(strings.ReplaceAll(at.String(), "[]", "[0]"), "{}")
	return slices.ContainsFunc(refusals, func(e *field.Error) bool {
		return e.Field == path && !strings.Contains(e.Detail, "no such key")
	})
}

// TestTheSchemaTakesUsefulQuantities: rules on spots that have no range of their own refuse nothing that is of use.
func TestTheSchemaTakesUsefulQuantities(t *testing.T) {
	useful := []any{int64(0), int64(1), int64(1 << 40), "0", "0.0", "1", "+1", "1m", "1Mi", "1k", "1e3", "1E3"}
	long := []any{"100m", "0.00001", "1536Mi", "1.5Gi", "12E", "16Ei", "9223372036854775807", "9223372036854775807n", "1e-3", "25e15", "1e+18"}
	eachKind(t, func(t *testing.T, _ schema.GroupVersionKind, s *Schema, spots []spot) {
		for _, spot := range spots {
			if slices.ContainsFunc(spot.schema.XValidations,
				func(r apiextensionsv1.ValidationRule) bool { return strings.Contains(r.Rule, "quantity(") }) {
				continue // it has a range
			}
			values := useful
			if !strings.HasSuffix(spot.String(), "divisor") { // 1, 1m, 1k, 1Mi and the like
				values = slices.Concat(useful, long)
			}
			for _, value := range values {
				obj := with(nil, spot.path, value).(map[string]any)
				refusals, _ := s.rules.Validate(context.Background(), nil, s.structural, obj, nil, celconfig.RuntimeCELCostBudget)
				if refuses(refusals, spot) {
					t.Errorf("%s: %v is refused: %v", spot, value, refusals)
				}
			}
		}
	})
}

// TestAllCostlyQuantitiesAtOnce asks the rules that compare several quantities.
func TestAllCostlyQuantitiesAtOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, _ schema.GroupVersionKind, s *Schema, spots []spot) {
		for _, text := range costlyQuantities {
			obj := map[string]any{}
			for _, spot := range spots {
				obj = with(obj, spot.path, text).(map[string]any)
				if list, ok := strings.CutSuffix(spot.String(), "{}"); ok && !strings.Contains(list, "[]") {
					obj = with(obj, append(slices.Clone(spot.path[:len(spot.path)-1]), "memory"), text).(map[string]any)
				}
			}
			with(obj, []string{"spec", "options"}, []any{"no_modern"})
			cost := allocatedBy(func() {
				_, _ = s.rules.Validate(context.Background(), nil, s.structural, obj, nil, celconfig.RuntimeCELCostBudget)
			})
			if limit := affordable(len(text) * (len(spots) + 1)); cost > limit {
				t.Errorf("%.20s: the rules allocate %d bytes, more than %d", text, cost, limit)
			}
		}
	})
}

// TestReadingACostlyQuantity: an object of an older schema may have it. It is read without that field, at a cost in
// proportion to its length.
func TestReadingACostlyQuantity(t *testing.T) {
	scheme := apiruntime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	eachKind(t, func(t *testing.T, kind schema.GroupVersionKind, _ *Schema, spots []spot) {
		for _, spot := range spots {
			for _, value := range costlyQuantities {
				content := with(nil, spot.path, value).(map[string]any)
				content["metadata"] = map[string]any{"name": "a"}
				text, err := json.Marshal(content)
				if err != nil {
					t.Fatal(err)
				}
				obj, err := scheme.New(kind)
				if err != nil {
					t.Fatal(err)
				}
				cost := allocatedBy(func() { err = json.Unmarshal(text, obj) })
				if err != nil {
					t.Errorf("%s: %v", spot, err)
				}
				if cost > affordable(len(text)) {
					t.Errorf("%s: %.20s: reading it allocates %d bytes", spot, value, cost)
				}
				why := obj.(interface{ GetUnreadable() string }).GetUnreadable()
				if !strings.HasPrefix(why, spot.path[1]+": ") || !strings.Contains(why, "write a shorter one") || len(why) > 400 {
					t.Errorf("%s: %.20s: it says %.500q", spot, value, why)
				}
			}
		}
	})
}

// TestACostlyQuantityStopsNoUpgrade: before OLM v0 puts a CRD in place of another, it checks every stored object against the
// new one, without its rules (validateExistingCRs in its catalog operator). It must find nothing that the CRD of an earlier
// release did not find.
func TestACostlyQuantityStopsNoUpgrade(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	folders, err := Kept(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "bundle/manifests/*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			before, err := ReadCRD(file)
			if err != nil {
				t.Fatal(err)
			}
			if before.Kind != "CustomResourceDefinition" {
				continue
			}
			now, err := ReadCRD(filepath.Join(root, "config/crd/bases", filepath.Base(file)))
			if err != nil {
				t.Fatal(err)
			}
			for _, version := range before.Spec.Versions {
				t.Run(filepath.Base(folder)+" "+before.Spec.Names.Kind, func(t *testing.T) { requireNothingNew(t, before, now, version) })
			}
		}
	}
}

func requireNothingNew(t *testing.T, before, now *apiextensionsv1.CustomResourceDefinition,
	version apiextensionsv1.CustomResourceDefinitionVersion) {
	was, err := SchemaOf(before, version.Name)
	if err != nil {
		t.Fatal(err)
	}
	is, err := SchemaOf(now, version.Name)
	if err != nil {
		t.Fatal(err)
	}
	hostile := map[string][]spot{
		strings.Repeat("a", 200_000): texts(*version.Schema.OpenAPIV3Schema),
		strings.Repeat("1", 33):      quantities(*version.Schema.OpenAPIV3Schema),
		"1e-2000000000":              quantities(*version.Schema.OpenAPIV3Schema),
	}
	for text, spots := range hostile {
		for _, spot := range spots {
			obj := with(nil, spot.path, text)
			had, has := validation.ValidateCustomResource(nil, obj, was.validator), validation.ValidateCustomResource(nil, obj, is.validator)
			if len(has) > len(had) {
				t.Errorf("%s: with %.20s an object cannot be upgraded: %v", spot, text, has)
			}
		}
	}
}
