package olm

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// version of the ClusterServiceVersion.
func (s submitted) version() string { return textAt(s.csv, "spec.version") }

func (s submitted) csvName() string { return textAt(s.csv, "metadata.name") }

// operator is the name of the operator in that of the ClusterServiceVersion.
func (s submitted) operator() string {
	name, _, _ := strings.Cut(s.csvName(), ".")
	return name
}

// packageName is the operator's name in the annotations.
func (s submitted) packageName() string { return textAt(s.annotations, bundlePackage) }

// channels of the bundle with its default one, each once.
func (s submitted) channels() []string {
	all := map[string]bool{}
	for channel := range strings.SplitSeq(textAt(s.annotations, bundleChannels)+","+textAt(s.annotations, bundleDefault), ",") {
		if channel = strings.TrimSpace(channel); channel != "" {
			all[channel] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// replaced are the names of the ClusterServiceVersions that it replaces or skips.
func (s submitted) replaced() []string {
	names := texts(lookUp(s.csv, "spec.skips"))
	if replaces := textAt(s.csv, "spec.replaces"); replaces != "" {
		names = append(names, replaces)
	}
	return names
}

// checkOperatorName compares the names of the operator in the annotations, the ClusterServiceVersion, the folder and other bundles.
func checkOperatorName(s *submission) []finding {
	b, others := s.newest, len(s.bundles) > 1
	if b.packageName() == "" {
		return []finding{fail("annotations.yaml has no operator name")}
	}
	if !strings.Contains(b.csvName(), ".") {
		return []finding{fail("the ClusterServiceVersion's name %q is not an operator's name and a version", b.csvName())}
	}
	var found []finding
	for _, names := range []struct{ where, name, expected string }{
		{"the ClusterServiceVersion", b.operator(), b.packageName()},
		{"the folder", s.name, b.packageName()},
	} {
		if names.name == names.expected {
			continue
		}
		found = append(found, finding{!others,
			fmt.Sprintf("the operator is %s in annotations.yaml, and %s in %s", names.expected, names.name, names.where)})
	}
	for _, other := range s.bundles[:len(s.bundles)-1] {
		if other.packageName() != b.packageName() || other.operator() != b.operator() {
			found = append(found, fail("the operator has another name in %s", filepath.Base(other.folder)))
		}
	}
	return found
}

func checkReleaseConfigSchema(s *submission) []finding {
	if s.newest.release == nil {
		return nil
	}
	return bySchema(releaseSchema, releaseConfig, s.newest.release)
}

// checkReleaseConfig compares release-config.yaml with ci.yaml.
func checkReleaseConfig(s *submission) []finding {
	if s.newest.release == nil {
		return nil
	}
	if !s.hasFBC() {
		return []finding{fail("release-config.yaml is used, but ci.yaml does not enable file-based catalogs")}
	}
	types := map[string]any{}
	for _, mapping := range mapsIn(lookUp(s.config, "fbc.catalog_mapping")) {
		types[fmt.Sprint(mapping["template_name"])] = mapping["type"]
	}
	var found []finding
	for _, template := range mapsIn(s.newest.release["catalog_templates"]) {
		name := fmt.Sprint(template["template_name"])
		of, ok := types[name]
		if !ok {
			found = append(found, fail("release-config.yaml has the template %s, which is not in catalog_mapping of ci.yaml", name))
		}
		for _, channel := range texts(template["channels"]) {
			if of == "olm.semver" && !slices.Contains([]string{"Fast", "Candidate", "Stable"}, channel) {
				found = append(found, fail("release-config.yaml has the channel %s for the semver template %s", channel, name))
			}
		}
	}
	return found
}

func checkNetworkPolicy(s *submission) []finding {
	var found []finding
	for _, file := range slices.Sorted(maps.Keys(s.newest.objects)) {
		object := s.newest.objects[file]
		if object["kind"] == "NetworkPolicy" && strings.HasPrefix(fmt.Sprint(object["apiVersion"]), "networking.k8s.io/") {
			found = append(found, fail("%s is a NetworkPolicy, which not every OLM installs", file))
		}
	}
	return found
}

func checkVersionFolder(s *submission) []finding {
	if folder := filepath.Base(s.newest.folder); folder != s.newest.version() {
		return []finding{fail("the bundle's folder is %s, and the version of its ClusterServiceVersion is %q", folder, s.newest.version())}
	}
	return nil
}

// checkReplaces finds a replaced bundle that is not there, or that other versions of OpenShift offer: where the pipeline asks which
// catalogs there are, other versions are a finding here.
func checkReplaces(s *submission) []finding {
	b, replaces := s.newest, textAt(s.newest.csv, "spec.replaces")
	if replaces == "" {
		return nil
	}
	if replaces == b.csvName() {
		return []finding{fail("%s replaces itself", b.csvName())}
	}
	for _, other := range s.bundles {
		if other.csvName() != replaces {
			continue
		}
		if was, is := textAt(other.annotations, openshiftVersions), textAt(b.annotations, openshiftVersions); was != is {
			return []finding{fail("%s is for the OpenShift versions %q, and what it replaces for %q", b.csvName(), is, was)}
		}
		return nil
	}
	return []finding{fail("%s replaces %s, which the submission does not have", b.csvName(), replaces)}
}

// checkBySDK asks operator-sdk. selector is one of its option --select-optional.
func checkBySDK(selector string) func(s *submission) []finding {
	return func(s *submission) []finding {
		outputs, err := askSDK(s.newest.folder, selector)
		if err != nil {
			return []finding{fail("operator-sdk: %s", err)}
		}
		var found []finding
		for _, output := range outputs {
			found = append(found, finding{output.Type == "error", output.Message})
		}
		return found
	}
}
