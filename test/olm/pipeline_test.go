package olm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// submissionTo writes what is submitted of the tree's bundle to a repository, and returns the operator's folder.
func submissionTo(t *testing.T, repository string) string {
	t.Helper()
	folder := t.TempDir()
	if err := Submit(within(t, ""), within(t, "bundle"), folder); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, repository, "operators", Package)
}

func readSubmissionIn(t *testing.T, folder string) *submission {
	t.Helper()
	s, err := readSubmission(folder)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// expected are the warnings that a submission gets for what it is, not for what is wrong with it.
var expected = map[string]map[string]string{
	"community-operators-prod": {"check_osdk_bundle_validate_operatorhub": deprecation},
	"community-operators": {
		"check_osdk_bundle_validate_operatorhub": deprecation,
		"check_using_fbc":                        "does not use file-based catalogs", // OperatorHub.io takes none
	},
}

func TestThePipelineFindsNothing(t *testing.T) {
	for _, repository := range Repositories {
		s := readSubmissionIn(t, submissionTo(t, repository))
		for _, r := range pipeline {
			t.Run(repository+"/"+r.name, func(t *testing.T) {
				found := s.findings(r)
				if words := expected[repository][r.name]; words != "" {
					if len(found) != 1 || found[0].fails || !strings.Contains(found[0].message, words) {
						t.Errorf("%v is found, not only a warning that says %q", found, words)
					}
					return
				}
				for _, f := range found {
					t.Errorf("fails: %t: %s", f.fails, f.message)
				}
			})
		}
	}
}

// file of an operator's folder that a test changes. Those of the bundle are in the folder of its version.
type file string

const (
	configFile  file = ciConfig
	releaseFile file = "0.2.0/" + releaseConfig
	metadata    file = "0.2.0/metadata/annotations.yaml"
	csvInBundle file = "0.2.0/" + csvFile
	prod             = "community-operators-prod"
	hub              = "community-operators"
)

func TestWhatThePipelineRefusesIsFound(t *testing.T) {
	mapping := func(change func(mapping map[string]any)) func(t *testing.T, obj map[string]any) {
		return func(t *testing.T, obj map[string]any) { change(at(t, obj, "fbc.catalog_mapping.0")) }
	}
	template := func(change func(template map[string]any)) func(t *testing.T, obj map[string]any) {
		return func(t *testing.T, obj map[string]any) { change(at(t, obj, "catalog_templates.0")) }
	}
	set := func(path, key string, value any) func(t *testing.T, obj map[string]any) {
		return func(t *testing.T, obj map[string]any) {
			if value == nil {
				delete(at(t, obj, path), key)
			} else {
				at(t, obj, path)[key] = value
			}
		}
	}
	tried := map[string]bool{}
	for _, c := range []struct {
		reason     string
		rule       string
		repository string
		file       file
		fault      func(t *testing.T, obj map[string]any)
		fails      bool
		words      string
	}{
		{"a bundle without a package is refused", "check_operator_name", prod, metadata,
			set("annotations", bundlePackage, nil), true, "annotations.yaml has no operator name"},
		{"a name without a version is refused", "check_operator_name", prod, csvInBundle,
			set("metadata", "name", "mainstay-operator"), true, "is not an operator's name and a version"},
		{"another name in the ClusterServiceVersion is refused", "check_operator_name", prod, csvInBundle,
			set("metadata", "name", "mast.v0.2.0"), true, "mast in the ClusterServiceVersion"},
		{"another package than the folder is refused", "check_operator_name", prod, metadata,
			set("annotations", bundlePackage, "mast"), true, "mainstay-operator in the folder"},
		{"a release-config without file-based catalogs is refused", "check_bundle_release_config", prod, configFile,
			set("fbc", "enabled", false), true, "does not enable file-based catalogs"},
		{"a template that is not mapped is refused", "check_bundle_release_config", prod, releaseFile,
			template(func(template map[string]any) { template["template_name"] = "mast.yaml" }), true, "the template mast.yaml"},
		{"a semver template with our channel is refused", "check_bundle_release_config", prod, configFile,
			mapping(func(mapping map[string]any) { mapping["type"] = "olm.semver" }), true, "the channel candidate for the semver template"},
		{"an unknown field of release-config is refused", "check_validate_schema_bundle_release_config", prod, releaseFile,
			func(_ *testing.T, obj map[string]any) { obj["mast"] = "tall" }, true, "mast"},
		{"a template without a channel is refused", "check_validate_schema_bundle_release_config", prod, releaseFile,
			template(func(template map[string]any) { delete(template, "channels") }), true, "channels"},
		{"a NetworkPolicy is refused", "check_network_policy_presence", prod, "0.2.0/" + memcachedCRD,
			func(_ *testing.T, obj map[string]any) {
				obj["kind"], obj["apiVersion"] = "NetworkPolicy", "networking.k8s.io/v1"
			}, true, "which not every OLM installs"},
		{"another version than the folder's is refused", "check_operator_version_directory_name", prod, csvInBundle,
			set("spec", "version", "0.2.1"), true, `the bundle's folder is 0.2.0`},
		{"a replaced release that was not published is refused", "check_replaces_availability", hub, csvInBundle,
			set("spec", "replaces", "mainstay-operator.v0.2.0-rc.1"), true, "which the submission does not have"},
		{"a release that replaces itself is refused", "check_replaces_availability", hub, csvInBundle,
			set("spec", "replaces", "mainstay-operator.v0.2.0"), true, "replaces itself"},
		{"an unknown field of fbc is refused", "check_schema_operator_ci_config", prod, configFile,
			set("fbc", "mast", "tall"), true, "mast"},
		{"an unknown updateGraph is refused by the schema", "check_schema_operator_ci_config", hub, configFile,
			func(_ *testing.T, obj map[string]any) { obj["updateGraph"] = "mast-mode" }, true, "updateGraph"},
		{"a mapping without catalogs is refused", "check_schema_operator_ci_config", prod, configFile,
			mapping(func(mapping map[string]any) { mapping["catalog_names"] = []any{} }), true, "catalog_names"},
		{"a catalog of two templates is refused", "check_catalog_usage_ci_config", prod, configFile,
			func(_ *testing.T, obj map[string]any) {
				fbc := obj["fbc"].(map[string]any)
				fbc["catalog_mapping"] = append(fbc["catalog_mapping"].([]any), map[string]any{"template_name": "b", "catalog_names": []any{"v4.19"}})
			}, true, "several templates [basic.yaml b] for the catalog v4.19"},
		{"an invented level is refused by operator-sdk", "check_osdk_bundle_validate_operator_framework", prod, csvInBundle,
			set("metadata.annotations", "capabilities", "Mast"), true, "not a valid capabilities level"},
		{"an address that is none is refused by operator-sdk", "check_osdk_bundle_validate_operatorhub", prod, csvInBundle,
			set("spec.maintainers.0", "email", "mast"), true, "csv.Spec.Maintainers"},
		{"no display name is refused", "check_required_fields", prod, csvInBundle, set("spec", "displayName", nil), true,
			"has no spec.displayName"},
		{"a short description is refused", "check_required_fields", prod, csvInBundle, set("spec", "description", "Masts."), true,
			"an invalid value for spec.description"},
		{"an icon of another type is refused", "check_required_fields", prod, csvInBundle,
			set("spec.icon.0", "mediatype", "image/webp"), true, "an invalid value for spec.icon"},
		{"an icon that is not base64 is refused", "check_required_fields", prod, csvInBundle,
			set("spec.icon.0", "base64data", "<svg>"), true, "an invalid value for spec.icon"},
		{"half a version is refused", "check_required_fields", prod, csvInBundle, set("spec", "version", "0.2"), true,
			"an invalid value for spec.version"},
		{"a maintainer without an address is refused", "check_required_fields", prod, csvInBundle,
			set("spec.maintainers.0", "email", nil), true, "an invalid value for spec.maintainers"},
		{"no provider is refused", "check_required_fields", prod, csvInBundle, set("spec", "provider", nil), true, "has no spec.provider.name"},
		{"no link is refused", "check_required_fields", prod, csvInBundle, set("spec", "links", []any{}), true,
			"an invalid value for spec.links"},
		{"no keyword is a warning", "check_required_fields", prod, csvInBundle, set("spec", "keywords", []any{}), false, "spec.keywords"},
		{"an invented category is a warning", "check_required_fields", prod, csvInBundle,
			set("metadata.annotations", "categories", "Masts"), false, "metadata.annotations.categories"},
		{"an invented level is a warning", "check_required_fields", prod, csvInBundle,
			set("metadata.annotations", "capabilities", "Mast"), false, "metadata.annotations.capabilities"},
		{"an image without a tag is a warning", "check_required_fields", prod, csvInBundle,
			set("metadata.annotations", "containerImage", "ghcr.io/mast"), false, "metadata.annotations.containerImage"},
		{"a date in words is a warning", "check_required_fields", prod, csvInBundle,
			set("metadata.annotations", "createdAt", "Friday"), false, "metadata.annotations.createdAt"},
		{"a repository that is no address is a warning", "check_required_fields", prod, csvInBundle,
			set("metadata.annotations", "repository", "mast"), false, "metadata.annotations.repository"},
		{"no support is a warning", "check_required_fields", prod, csvInBundle,
			set("metadata.annotations", "support", nil), false, "has no metadata.annotations.support"},
		{"a minKubeVersion without versions of OpenShift is refused", "check_api_version_constraints", hub, metadata,
			set("annotations", openshiftVersions, nil), true, "annotations.yaml has no com.redhat.openshift.versions"},
		{"an OpenShift with an older Kubernetes is refused", "check_api_version_constraints", hub, metadata,
			set("annotations", openshiftVersions, "v4.17"), true, "OpenShift 4.17 has Kubernetes 1.30"},
		{"a range that starts too early is refused", "check_api_version_constraints", hub, metadata,
			set("annotations", openshiftVersions, "v4.16-v4.20"), true, "OpenShift 4.16 has Kubernetes 1.29"},
		{"a single version with an older Kubernetes is refused", "check_api_version_constraints", hub, metadata,
			set("annotations", openshiftVersions, "=v4.15"), true, "OpenShift 4.15 has Kubernetes 1.28"},
		{"a version of OpenShift in words is refused", "check_api_version_constraints", hub, metadata,
			set("annotations", openshiftVersions, "newest"), true, `"newest" is no version 4.x`},
		{"a newer Kubernetes than the OpenShift's is refused", "check_api_version_constraints", hub, csvInBundle,
			set("spec", "minKubeVersion", "1.32.0"), true, "OpenShift 4.18 has Kubernetes 1.31"},
		{"a minKubeVersion in words is refused", "check_api_version_constraints", hub, csvInBundle,
			set("spec", "minKubeVersion", "newest"), true, "minKubeVersion: "},
		{"no file-based catalog is a warning", "check_using_fbc", prod, configFile,
			set("fbc", "enabled", nil), false, "does not use file-based catalogs"},
		{"no updateGraph is a warning", "check_ci_upgrade_graph", hub, configFile,
			func(_ *testing.T, obj map[string]any) { delete(obj, "updateGraph") }, false, "has no updateGraph"},
		{"an unknown updateGraph is refused", "check_ci_upgrade_graph", hub, configFile,
			func(_ *testing.T, obj map[string]any) { obj["updateGraph"] = "mast-mode" }, true, "mast-mode"},
		{"upgrades by an unknown updateGraph are refused", "check_upgrade_graph_loop", hub, configFile,
			func(_ *testing.T, obj map[string]any) { obj["updateGraph"] = "mast-mode" }, true, "mast-mode"},
		{"a release that skips itself is a loop", "check_upgrade_graph_loop", hub, csvInBundle,
			set("spec", "skips", []any{"mainstay-operator.v0.2.0"}), true, "lead from mainstay-operator.v0.2.0 back to it"},
		{"a replaced name without a version is refused", "check_upgrade_graph_loop", hub, csvInBundle,
			set("spec", "replaces", "mast"), true, "invalid replaces"},
		{"a replaced name without a version leaves bundles dangling", "check_dangling_bundles", hub, csvInBundle,
			set("spec", "replaces", "mast"), true, "invalid replaces"},
	} {
		tried[c.rule] = true
		t.Run(c.reason, func(t *testing.T) {
			folder := submissionTo(t, c.repository)
			spoil(t, filepath.Join(folder, string(c.file)), func(obj map[string]any) { c.fault(t, obj) })
			findsInPipeline(t, folder, c.rule, c.fails, c.words)
		})
	}
	tried["check_operator_name_unique"] = true // TestThePipelineComparesANewReleaseWithTheLast
	for _, r := range pipeline {
		if !tried[r.name] {
			t.Errorf("no fault is planted for %s", r.name)
		}
	}
}

func TestWhichVersionsOfOpenShiftAreSelected(t *testing.T) {
	for selector, want := range map[string][2]int{
		"v4.18":       {18, newestOpenshift},
		"=v4.18":      {18, 18},
		"v4.18-v4.20": {18, 20},
		"v4.5,v4.6":   {5, newestOpenshift},
		"v4.6,v4.5":   {5, newestOpenshift},
	} {
		if first, last, err := selected(selector); err != nil || [2]int{first, last} != want {
			t.Errorf("%s selects 4.%d to 4.%d, not %v: %v", selector, first, last, want, err)
		}
	}
	for _, selector := range []string{"=v4.18-v4.20", "v4.18-=v4.20", "v4.18,v4.19", "=v4.5,v4.6", "v4.5,v4.6,v4.7", "v4.18-"} {
		if first, last, err := selected(selector); err == nil {
			t.Errorf("%s is accepted, for 4.%d to 4.%d", selector, first, last)
		}
	}
}

func TestAnEmptyConfigIsNotAnAbsentOne(t *testing.T) {
	folder := submissionTo(t, hub)
	config := filepath.Join(folder, ciConfig)
	for _, content := range []string{"", "# reviewers: []\n"} {
		if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		findsInPipeline(t, folder, "check_schema_operator_ci_config", true, "ci.yaml is empty")
	}
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	if found := checkConfigSchema(readSubmissionIn(t, folder)); len(found) != 0 {
		t.Errorf("without a ci.yaml %v is found", found)
	}
}

// findsInPipeline requires that a rule finds this in an operator's folder.
func findsInPipeline(t *testing.T, folder, name string, fails bool, words string) {
	t.Helper()
	index := slices.IndexFunc(pipeline, func(r rule) bool { return r.name == name })
	if index < 0 {
		t.Fatalf("the pipeline has no %s", name)
	}
	found := readSubmissionIn(t, folder).findings(pipeline[index])
	if !slices.ContainsFunc(found, func(f finding) bool { return f.fails == fails && strings.Contains(f.message, words) }) {
		t.Errorf("%s does not say %q (fails: %t), but %v", name, words, fails, found)
	}
}

// withNext adds a bundle of the next version to an operator's folder, changed by this.
func withNext(t *testing.T, folder string, change func(csv map[string]any)) {
	t.Helper()
	next := filepath.Join(folder, "0.3.0")
	if err := os.CopyFS(next, os.DirFS(filepath.Join(folder, "0.2.0"))); err != nil {
		t.Fatal(err)
	}
	spoil(t, filepath.Join(next, csvFile), func(csv map[string]any) {
		at(t, csv, "metadata")["name"] = "mainstay-operator.v0.3.0"
		at(t, csv, "spec")["version"], at(t, csv, "spec")["replaces"] = "0.3.0", "mainstay-operator.v0.2.0"
		change(csv)
	})
}

func TestThePipelineComparesANewReleaseWithTheLast(t *testing.T) {
	t.Run("one that replaces the last is accepted", func(t *testing.T) {
		for _, mode := range []string{replacesMode, semverMode} {
			folder := submissionTo(t, hub)
			withNext(t, folder, func(map[string]any) {})
			spoil(t, filepath.Join(folder, ciConfig), func(obj map[string]any) { obj["updateGraph"] = mode })
			s := readSubmissionIn(t, folder)
			for _, r := range pipeline {
				for _, f := range s.findings(r) {
					if f.fails {
						t.Errorf("%s, %s: %s", mode, r.name, f.message)
					}
				}
			}
		}
	})
	for reason, c := range map[string]struct {
		rule, words string
		fault       func(csv map[string]any)
	}{
		"one that replaces nothing leaves the last dangling": {"check_dangling_bundles", "replaces mainstay-operator.v0.2.0",
			func(csv map[string]any) { delete(csv["spec"].(map[string]any), "replaces") }},
		"one of another name is found": {"check_operator_name_unique", "several operator names: [mainstay-operator mast]",
			func(csv map[string]any) { csv["metadata"].(map[string]any)["name"] = "mast.v0.3.0" }},
		"one of another name than the last is refused": {"check_operator_name", "another name in 0.2.0",
			func(csv map[string]any) { csv["metadata"].(map[string]any)["name"] = "mast.v0.3.0" }},
	} {
		t.Run(reason, func(t *testing.T) {
			folder := submissionTo(t, hub)
			withNext(t, folder, c.fault)
			findsInPipeline(t, folder, c.rule, true, c.words)
		})
	}
	t.Run("one for other versions of OpenShift than the last is refused", func(t *testing.T) {
		folder := submissionTo(t, hub)
		withNext(t, folder, func(map[string]any) {})
		spoil(t, filepath.Join(folder, "0.3.0/metadata/annotations.yaml"), func(obj map[string]any) {
			at(t, obj, "annotations")[openshiftVersions] = "v4.17"
		})
		findsInPipeline(t, folder, "check_replaces_availability", true, `for the OpenShift versions "v4.17"`)
	})
	t.Run("two that replace each other are a loop", func(t *testing.T) {
		folder := submissionTo(t, hub)
		withNext(t, folder, func(map[string]any) {})
		spoil(t, filepath.Join(folder, string(csvInBundle)), func(csv map[string]any) {
			at(t, csv, "spec")["replaces"] = "mainstay-operator.v0.3.0"
		})
		findsInPipeline(t, folder, "check_upgrade_graph_loop", true, "back to it")
	})
}
