package olm

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

const (
	csvFile      = "manifests/mainstay-operator.clusterserviceversion.yaml"
	memcachedCRD = "manifests/cache.mainstay-operator.io_memcacheds.yaml"
)

// planted is a copy of the tree's bundle with a fault in one of its files.
func planted(t *testing.T, file string, fault func(obj map[string]any)) string {
	t.Helper()
	bundle := t.TempDir()
	if err := os.CopyFS(bundle, os.DirFS(within(t, "bundle"))); err != nil {
		t.Fatal(err)
	}
	spoil(t, filepath.Join(bundle, file), fault)
	return bundle
}

// plantedOutsideCRDs is planted for a fault that is in no CRD. The CRDs have no validation rules: a validator takes seconds to estimate
// the cost of those of one CRD.
func plantedOutsideCRDs(t *testing.T, file string, fault func(obj map[string]any)) string {
	t.Helper()
	bundle := planted(t, file, fault)
	crds, err := filepath.Glob(filepath.Join(bundle, "manifests", "*.mainstay-operator.io_*.yaml"))
	if err != nil || len(crds) == 0 {
		t.Fatalf("the bundle has no CRD: %v", err)
	}
	for _, crd := range crds {
		spoil(t, crd, func(obj map[string]any) { dropRules(obj) })
	}
	return bundle
}

// dropRules drops the rules of a schema and of all its parts.
func dropRules(schema any) {
	switch part := schema.(type) {
	case map[string]any:
		delete(part, "x-kubernetes-validations")
		for _, inner := range part {
			dropRules(inner)
		}
	case []any:
		for _, inner := range part {
			dropRules(inner)
		}
	}
}

func spoil(t *testing.T, file string, fault func(obj map[string]any)) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := k8syaml.Unmarshal(content, &obj); err != nil {
		t.Fatal(err)
	}
	fault(obj)
	if err := writeYAML(file, obj); err != nil {
		t.Fatal(err)
	}
}

// at gives the map at a path; a number is an index of a list.
func at(t *testing.T, obj map[string]any, path string) map[string]any {
	t.Helper()
	var here any = obj
	for step := range strings.SplitSeq(path, ".") {
		switch value := here.(type) {
		case map[string]any:
			here = value[step]
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index >= len(value) {
				t.Fatalf("%s: no index %s", path, step)
			}
			here = value[index]
		}
	}
	found, ok := here.(map[string]any)
	if !ok {
		t.Fatalf("there is no map at %s", path)
	}
	return found
}

// finds requires that a check says these words.
func finds(t *testing.T, check string, err error, words string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s found nothing", check)
	} else if !strings.Contains(err.Error(), words) {
		t.Errorf("%s did not say %q but %v", check, words, err)
	}
}

func TestAMissingCRDIsFound(t *testing.T) {
	bundle := plantedOutsideCRDs(t, csvFile, func(map[string]any) {})
	if err := os.Remove(filepath.Join(bundle, memcachedCRD)); err != nil {
		t.Fatal(err)
	}
	finds(t, "operator-sdk", Lint(bundle), "Memcached")
	finds(t, "the validators", Validate(bundle), "Memcached")
	finds(t, "the scorecard", Scorecard(bundle), "Memcached")
	finds(t, "the comparison with the last release", CompareCRDs(filepath.Join(last(t), "bundle"), bundle),
		"memcacheds.cache.mainstay-operator.io is gone")
	finds(t, "the objects of the last release", StoredObjects(last(t), bundle), "Memcached")
}

func TestAKindThatNotEveryOLMInstallsIsFound(t *testing.T) {
	bundle := planted(t, csvFile, func(map[string]any) {})
	policy, err := os.ReadFile(within(t, "config/network-policy/manager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "manifests/policy.yaml"), policy, 0o644); err != nil {
		t.Fatal(err)
	}
	finds(t, "the kinds", Installable(bundle), "NetworkPolicy controller-manager")
}

func TestABundleThatSaysLessIsFound(t *testing.T) {
	owned := func(t *testing.T, csv map[string]any) map[string]any {
		return at(t, csv, "spec.customresourcedefinitions.owned.0")
	}
	for name, c := range map[string]struct {
		fault func(t *testing.T, csv map[string]any)
		check func(bundle string) error
		words string
	}{
		"no descriptor": {func(t *testing.T, csv map[string]any) { delete(owned(t, csv), "specDescriptors") }, Scorecard,
			"does not have a spec descriptor"},
		"no resources":         {func(t *testing.T, csv map[string]any) { delete(owned(t, csv), "resources") }, Scorecard, "resources"},
		"no icon":              {func(t *testing.T, csv map[string]any) { delete(at(t, csv, "spec"), "icon") }, Validate, "Icon"},
		"no oldest Kubernetes": {func(t *testing.T, csv map[string]any) { delete(at(t, csv, "spec"), "minKubeVersion") }, Lint, "minKubeVersion"},
		"an invented category": {func(t *testing.T, csv map[string]any) { at(t, csv, "metadata.annotations")["categories"] = "Masts" }, Lint,
			"Masts"},
		"an example without status": {func(t *testing.T, csv map[string]any) {
			annotations := at(t, csv, "metadata.annotations")
			annotations["alm-examples"] = strings.ReplaceAll(annotations["alm-examples"].(string), `"status"`, `"state"`)
		}, Scorecard, "does not have status"},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := plantedOutsideCRDs(t, csvFile, func(csv map[string]any) { c.fault(t, csv) })
			finds(t, name, c.check(bundle), c.words)
		})
	}
}

func TestAWrongEdgeIsFound(t *testing.T) {
	next := func(replaces string) string {
		return planted(t, csvFile, func(csv map[string]any) {
			at(t, csv, "metadata")["name"] = "mainstay-operator.v9.9.9"
			at(t, csv, "spec")["version"], at(t, csv, "spec")["replaces"] = "9.9.9", replaces
		})
	}
	before := kept(t)
	with := func(replaces string) []string { return append(slices.Clone(before), next(replaces)) }
	if err := CheckCatalog(with(csvOf(t, before[len(before)-1]).Name)...); err != nil {
		t.Error(err)
	}
	finds(t, "the catalog", CheckCatalog(with("")...), "multiple channel heads")
	finds(t, "the catalog", CheckCatalog(with("mainstay-operator.v0.0.9")...), "multiple channel heads")
	finds(t, "the catalog", CheckCatalog(with("mainstay-operator.v9.9.9")...), "stranded bundles")
	// opm takes this one for pruned.
	finds(t, "the catalog", CheckCatalog(next("mainstay-operator.v0.0.9")), `replaces "mainstay-operator.v0.0.9", not ""`)
}

// The first release that is published replaces none, and its users' catalog has none before it. Tests upgrade to it from those.
func TestTheFirstPublishedReleaseReplacesNone(t *testing.T) {
	first := func(replaces string) string {
		return planted(t, csvFile, func(csv map[string]any) {
			at(t, csv, "metadata")["name"] = "mainstay-operator.v" + First
			at(t, csv, "spec")["version"] = First
			if delete(at(t, csv, "spec"), "replaces"); replaces != "" {
				at(t, csv, "spec")["replaces"] = replaces
			}
		})
	}
	candidates := slices.DeleteFunc(kept(t), func(bundle string) bool {
		return semver.Compare(filepath.Base(filepath.Dir(bundle)), "v"+First) >= 0
	})
	before := csvOf(t, candidates[len(candidates)-1]).Name
	published := first("")
	folder := t.TempDir()
	if err := Catalog(folder, append(slices.Clone(candidates), published)...); err != nil {
		t.Error(err)
	}
	channel, err := os.ReadFile(filepath.Join(folder, "channel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(channel), "replaces: "+before+"\n") {
		t.Errorf("the catalog of tests has no edge from %s:\n%s", before, channel)
	}
	finds(t, "the catalog", CheckCatalog(append(slices.Clone(candidates), first(before))...), `replaces "`+before+`", not ""`)
	if users, err := Published(append(candidates, published)...); err != nil || !slices.Equal(users, []string{published}) {
		t.Errorf("users get %v: %v", users, err)
	}
	if err := CheckCatalog(published); err != nil {
		t.Error(err)
	}
}

func TestACRDThatBreaksStoredObjectsIsFound(t *testing.T) {
	last := filepath.Join(last(t), "bundle")
	const spec = "spec.versions.0.schema.openAPIV3Schema.properties.spec"
	field := func(name, key string, value any) func(_, properties map[string]any) {
		return func(_, properties map[string]any) { properties[name].(map[string]any)[key] = value }
	}
	for words, fault := range map[string]func(spec, properties map[string]any){
		"new required fields: [owner]": func(spec, properties map[string]any) {
			properties["owner"] = map[string]any{"type": "string"}
			spec["required"] = []any{"owner"}
		},
		"removed field":                      func(_, properties map[string]any) { delete(properties, "verbosity") },
		`default value changed : "4" -> "2"`: field("threads", "default", 2),
		"default added":                      field("verbosity", "default", 1),
		"type changed":                       field("paused", "type", "string"),
		"maximum decreased : 256 -> 2":       field("size", "maximum", 2),
		"allowed enum values removed":        field("imagePullPolicy", "enum", []any{"Never"}),
		"pattern changed":                    field("image", "pattern", "^docker.io/"),
		"unhandled changes":                  field("podLabels", "x-kubernetes-validations", []any{map[string]any{"rule": "true"}}),
		// As exceptions.go permits it, but shorter.
		"size(self[k]) <= 62": field("podLabels", "x-kubernetes-validations",
			[]any{map[string]any{"rule": "self.all(k, size(k) <= 317 && size(self[k]) <= 62)"}}),
		"9Mi": field("memory", "x-kubernetes-validations", []any{map[string]any{
			"rule": "!string(self).matches('[eE].{4}|.{33}') && quantity(string(self)).compareTo(quantity('9Mi')) >= 0"}}),
	} {
		t.Run(words, func(t *testing.T) {
			bundle := planted(t, memcachedCRD, func(crd map[string]any) {
				fault(at(t, crd, spec), at(t, crd, spec+".properties"))
			})
			finds(t, "the comparison with the last release", CompareCRDs(last, bundle), words)
		})
	}
	for reason, harmless := range map[string]func(spec, properties map[string]any){
		"a new optional field": func(_, properties map[string]any) { properties["owner"] = map[string]any{"type": "string"} },
		"other words":          field("port", "description", "where memcached listens"),
		"one more choice":      field("imagePullPolicy", "enum", []any{"Always", "IfNotPresent", "Never", "Sometimes"}),
	} {
		t.Run(reason, func(t *testing.T) {
			bundle := planted(t, memcachedCRD, func(crd map[string]any) {
				harmless(at(t, crd, spec), at(t, crd, spec+".properties"))
			})
			if err := CompareCRDs(last, bundle); err != nil {
				t.Error(err)
			}
		})
	}
}

// Comparing does not show what a rule means for objects; they can be tried.
func TestARuleThatStoredObjectsBreakIsFound(t *testing.T) {
	bundle := planted(t, memcachedCRD, func(crd map[string]any) {
		spec := at(t, crd, "spec.versions.0.schema.openAPIV3Schema.properties.spec")
		rules, _ := spec["x-kubernetes-validations"].([]any)
		spec["x-kubernetes-validations"] = append(rules, map[string]any{"rule": "self.port == 11211", "message": "port must be 11211"})
	})
	finds(t, "the objects of the last release", StoredObjects(last(t), bundle), "port must be 11211")
}

func TestAMissingSourceIsFound(t *testing.T) {
	clone := t.TempDir()
	if err := run(t.Context(), clone, "git", "init", "--quiet"); err != nil {
		t.Fatal(err)
	}
	release, err := Previous(within(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	_, err = release.Build(t.Context(), clone, t.TempDir())
	finds(t, "the build of the last release", err, "git fetch --unshallow")
}

func TestATemplateThatRollsPodsIsFound(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(last(t), "workloads", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no workload is kept: %v", err)
	}
	for _, file := range files {
		was, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := releases.Same(was, was); err != nil {
			t.Errorf("%s differs from itself: %v", file, err)
		}
		workload := &unstructured.Unstructured{}
		if err := k8syaml.Unmarshal(was, &workload.Object); err != nil {
			t.Fatal(err)
		}
		pod := workload.Object
		if workload.GetKind() != "" && workload.GetKind() != "Pod" {
			pod = at(t, workload.Object, "spec.template")
		}
		pod["spec"].(map[string]any)["hostNetwork"] = true
		is, err := yaml.Marshal(workload.Object)
		if err != nil {
			t.Fatal(err)
		}
		finds(t, filepath.Base(file), releases.Same(was, is), "hostNetwork")
	}
}
