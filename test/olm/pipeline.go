package olm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/semver"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
)

const (
	ciConfig      = "ci.yaml"
	releaseConfig = "release-config.yaml"
	// openshiftVersions names the catalogs of OpenShift that offer a bundle.
	openshiftVersions = "com.redhat.openshift.versions"
	bundlePackage     = "operators.operatorframework.io.bundle.package.v1"
	bundleChannels    = "operators.operatorframework.io.bundle.channels.v1"
	bundleDefault     = "operators.operatorframework.io.bundle.channel.default.v1"
)

// A finding is what a rule of the community pipeline says of a submission. One that fails stops it, another is a warning.
type finding struct {
	fails   bool
	message string
}

func fail(format string, args ...any) finding { return finding{true, fmt.Sprintf(format, args...)} }

func warn(format string, args ...any) finding { return finding{false, fmt.Sprintf(format, args...)} }

// submission is the folder of an operator, as the community pipeline reads it.
type submission struct {
	folder  string
	name    string
	config  map[string]any // of ci.yaml: empty if there is no such file, nil if the file is empty
	bundles []submitted    // the oldest first
	newest  submitted
}

// submitted is a bundle of a submission.
type submitted struct {
	folder      string
	csv         map[string]any
	annotations map[string]any
	release     map[string]any // of release-config.yaml; nil without one
	objects     map[string]map[string]any
}

// readSubmission reads an operator's folder. What the pipeline could not read is an error.
func readSubmission(folder string) (*submission, error) {
	s := &submission{folder: folder, name: filepath.Base(folder)}
	var err error
	if s.config, err = readMap(filepath.Join(folder, ciConfig)); os.IsNotExist(err) {
		s.config = map[string]any{}
	} else if err != nil {
		return nil, err
	}
	folders, err := filepath.Glob(filepath.Join(folder, "*", manifestsDir))
	if err != nil {
		return nil, err
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("%s has no bundle", folder)
	}
	for _, manifests := range folders {
		bundle, err := readSubmitted(filepath.Dir(manifests))
		if err != nil {
			return nil, err
		}
		s.bundles = append(s.bundles, bundle)
	}
	slices.SortFunc(s.bundles, func(a, b submitted) int { return semver.Compare("v"+a.version(), "v"+b.version()) })
	s.newest = s.bundles[len(s.bundles)-1]
	return s, nil
}

func readSubmitted(folder string) (submitted, error) {
	b := submitted{folder: folder, objects: map[string]map[string]any{}}
	metadata, err := readMap(filepath.Join(folder, "metadata", "annotations.yaml"))
	if err != nil {
		return b, err
	}
	b.annotations, _ = metadata["annotations"].(map[string]any)
	if b.release, err = readMap(filepath.Join(folder, releaseConfig)); err != nil && !os.IsNotExist(err) {
		return b, err
	}
	files, err := filepath.Glob(filepath.Join(folder, manifestsDir, "*.yaml"))
	if err != nil {
		return b, err
	}
	for _, file := range files {
		object, err := readMap(file)
		if err != nil {
			return b, err
		}
		b.objects[filepath.Base(file)] = object
		if object["kind"] == "ClusterServiceVersion" {
			b.csv = object
		}
	}
	if b.csv == nil {
		return b, fmt.Errorf("%s has no ClusterServiceVersion", folder)
	}
	return b, nil
}

func readMap(file string) (map[string]any, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var value map[string]any
	if err := k8syaml.Unmarshal(content, &value); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return value, nil
}

// A rule is one of the static checks of operator-pipelines, for community operators or for all.
type rule struct {
	name string // of the check
	// withoutFBC is one that the pipeline skips if ci.yaml enables file-based catalogs.
	withoutFBC bool
	check      func(s *submission) []finding
}

// pipeline are the static checks that a submission goes through. Those of a catalog are not among them: the pipeline makes the catalog
// of a submission; catalogFindings are theirs.
var pipeline = []rule{
	{"check_operator_name", false, checkOperatorName},
	{"check_bundle_release_config", false, checkReleaseConfig},
	{"check_validate_schema_bundle_release_config", false, checkReleaseConfigSchema},
	{"check_network_policy_presence", false, checkNetworkPolicy},
	{"check_operator_version_directory_name", false, checkVersionFolder},
	{"check_replaces_availability", true, checkReplaces},
	{"check_schema_operator_ci_config", false, checkConfigSchema},
	{"check_catalog_usage_ci_config", false, checkCatalogUse},
	{"check_osdk_bundle_validate_operatorhub", false, checkBySDK("name=operatorhub")},
	{"check_osdk_bundle_validate_operator_framework", false, checkBySDK("suite=operatorframework")},
	{"check_required_fields", false, checkRequiredFields},
	{"check_dangling_bundles", true, checkDangling},
	{"check_api_version_constraints", true, checkVersions},
	{"check_using_fbc", true, checkUsingFBC},
	{"check_operator_name_unique", true, checkUniqueName},
	{"check_ci_upgrade_graph", true, checkUpdateGraph},
	{"check_upgrade_graph_loop", true, checkLoops},
}

// hasFBC reports whether ci.yaml enables file-based catalogs.
func (s *submission) hasFBC() bool {
	enabled, _ := lookUp(s.config, "fbc.enabled").(bool)
	return enabled
}

// findings of a rule; none if the pipeline skips it.
func (s *submission) findings(r rule) []finding {
	if r.withoutFBC && s.hasFBC() {
		return nil
	}
	return r.check(s)
}
