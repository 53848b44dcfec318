package olm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/manifests"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"
)

const (
	// Package is the operator's name in catalogs.
	Package = "mainstay-operator"
	// Channel that users follow.
	Channel = "candidate"
	// First is the first version that is published. It replaces none, for those before it are in no catalog of users.
	First = "0.2.0"

	annotationSkipRange = "olm.skipRange"
)

// entry is a release in a channel of a catalog.
type entry struct {
	Name      string `json:"name"`
	Replaces  string `json:"replaces,omitempty"`
	SkipRange string `json:"skipRange,omitempty"`
}

// Published are those of the bundles that users get: First and what came after it.
func Published(bundles ...string) ([]string, error) {
	csvs, err := CSVs(bundles...)
	if err != nil {
		return nil, err
	}
	var published []string
	for i, csv := range csvs {
		if semver.Compare("v"+csv.Spec.Version.String(), "v"+First) >= 0 {
			published = append(published, bundles[i])
		}
	}
	return published, nil
}

// Catalog writes a file-based catalog of bundles into a folder, the oldest first, with the edges that their CSVs declare, and has opm
// judge it. After releases that were not published, First replaces the last of them: upgrades from those are tested.
func Catalog(folder string, bundles ...string) error {
	csvs, err := CSVs(bundles...)
	if err != nil {
		return err
	}
	newest := csvs[len(csvs)-1]
	entries := make([]entry, 0, len(csvs))
	for i, csv := range csvs {
		replaces := csv.Spec.Replaces
		if i > 0 && isFirst(csv) {
			replaces = csvs[i-1].Name
		}
		entries = append(entries, entry{csv.Name, replaces, csv.Annotations[annotationSkipRange]})
	}
	index := map[string]any{"schema": "olm.package", "name": Package, "defaultChannel": Channel, "description": newest.Spec.Description}
	for _, icon := range newest.Spec.Icon {
		index["icon"] = map[string]string{"base64data": icon.Data, "mediatype": icon.MediaType}
	}
	channel := map[string]any{"schema": "olm.channel", "package": Package, "name": Channel, "entries": offered(entries, csvs)}
	if err := errors.Join(
		writeYAML(filepath.Join(folder, "package.yaml"), index),
		writeYAML(filepath.Join(folder, "channel.yaml"), channel),
	); err != nil {
		return err
	}
	for i, bundle := range bundles {
		rendered, err := tool("opm", "render", bundle, "--output", "yaml")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, csvs[i].Name+".yaml"), []byte(rendered), 0o644); err != nil {
			return err
		}
	}
	_, err = tool("opm", "validate", folder)
	return errors.Join(err, edges(csvs))
}

// offered has OLM offer an entry that replaces none to users of any older version: also of a release
// that is not in the catalog.
func offered(entries []entry, csvs []*operators.ClusterServiceVersion) []entry {
	for i, e := range entries {
		if e.Replaces == "" && e.SkipRange == "" {
			entries[i].SkipRange = "<" + csvs[i].Spec.Version.String()
		}
	}
	return entries
}

// CheckCatalog of bundles, the oldest first.
func CheckCatalog(bundles ...string) error {
	folder, err := os.MkdirTemp("", "catalog")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	return Catalog(folder, bundles...)
}

func isFirst(csv *operators.ClusterServiceVersion) bool { return csv.Spec.Version.String() == First }

// edges of an unbroken chain: each release replaces the one before it, and the first one that is published none, nor does the oldest of
// the catalog.
func edges(csvs []*operators.ClusterServiceVersion) error {
	var faults []error
	before := ""
	for _, csv := range csvs {
		if isFirst(csv) {
			before = ""
		}
		if csv.Spec.Replaces != before {
			faults = append(faults, fmt.Errorf("%s replaces %q, not %q", csv.Name, csv.Spec.Replaces, before))
		}
		before = csv.Name
	}
	return errors.Join(faults...)
}

// CSVs of bundles.
func CSVs(bundles ...string) ([]*operators.ClusterServiceVersion, error) {
	list := make([]*operators.ClusterServiceVersion, 0, len(bundles))
	for _, bundle := range bundles {
		loaded, err := manifests.GetBundleFromDir(bundle)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", bundle, err)
		}
		list = append(list, loaded.CSV)
	}
	return list, nil
}

func writeYAML(file string, value any) error {
	content, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
