package olm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
)

// allowedRegistries are those that the catalogs of community-operators-prod may name: where the pipeline pushes bundles.
var allowedRegistries = []string{"quay.io/community-operator-pipeline-prod/", "quay.io/openshift-community-operators/"}

// amend adds a release to a catalog template, as the pipeline does once the bundle's image is pushed: its channel where the template
// lacks it, the image, and an entry of each channel that release-config.yaml names.
func amend(template map[string]any, release map[string]any, name, image string) {
	entries, _ := template["entries"].([]any)
	entry := map[string]any{"name": name}
	for _, key := range []string{"replaces", "skips", "skipRange"} {
		if value, ok := release[key]; ok {
			entry[key] = value
		}
	}
	for _, channel := range texts(release["channels"]) {
		found := false
		for _, e := range mapsIn(entries) {
			if e["schema"] == "olm.channel" && e["name"] == channel {
				list, _ := e["entries"].([]any)
				e["entries"], found = append(list, entry), true
			}
		}
		if !found {
			entries = append(entries, map[string]any{"schema": "olm.channel", "package": Package, "name": channel, "entries": []any{entry}})
		}
	}
	template["entries"] = append(entries, map[string]any{"schema": "olm.bundle", "image": image})
}

// renderTemplate makes the catalog of an amended template, as OpenShift 4.17 and newer want it, and has opm judge it. The template's
// image, which the pipeline pushes, is that of the bundle in this folder.
func renderTemplate(template map[string]any, bundle string) ([]map[string]any, error) {
	folder, err := os.MkdirTemp("", "template")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for i, blob := range mapsIn(template["entries"]) {
		if blob["schema"] == "olm.bundle" {
			rendered, err := tool("opm", "render", bundle, "--output", "yaml")
			if err != nil {
				return nil, err
			}
			image := blob["image"]
			blob = map[string]any{}
			if err := k8syaml.Unmarshal([]byte(rendered), &blob); err != nil {
				return nil, err
			}
			blob["image"] = image
		}
		if err := writeYAML(filepath.Join(folder, fmt.Sprint(i, ".yaml")), blob); err != nil {
			return nil, err
		}
	}
	if _, err := tool("opm", "validate", folder); err != nil {
		return nil, err
	}
	rendered, err := tool("opm", "render", folder, "--migrate-level", "bundle-object-to-csv-metadata", "--output", "yaml")
	if err != nil {
		return nil, err
	}
	var catalog []map[string]any
	documents := k8syaml.NewYAMLOrJSONDecoder(strings.NewReader(rendered), 4096)
	for {
		var blob map[string]any
		if err := documents.Decode(&blob); errors.Is(err, io.EOF) {
			return catalog, nil
		} else if err != nil {
			return nil, err
		}
		catalog = append(catalog, blob)
	}
}

// checkBundleImages is check_bundle_images_in_fbc: a catalog names images of the pipeline's registries alone.
func checkBundleImages(catalog []map[string]any) []finding {
	var found []finding
	for _, blob := range catalog {
		image := textAt(blob, "image")
		allowed := image == "" || blob["schema"] != "olm.bundle"
		for _, registry := range allowedRegistries {
			allowed = allowed || strings.HasPrefix(image, registry)
		}
		if !allowed {
			found = append(found, fail("the catalog names the bundle image %s, which is in none of %v", image, allowedRegistries))
		}
	}
	return found
}

// checkBundleObjects is check_olm_bundle_object_in_fbc: since OpenShift 4.17 a catalog has the metadata of a ClusterServiceVersion, and
// no manifests.
func checkBundleObjects(catalog []map[string]any) []finding {
	var found []finding
	for _, blob := range catalog {
		for _, property := range mapsIn(blob["properties"]) {
			if property["type"] == "olm.bundle.object" {
				return append(found, fail("the bundle %v has a property olm.bundle.object", blob["name"]))
			}
		}
	}
	return found
}
