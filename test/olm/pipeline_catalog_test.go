package olm

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// catalogOf the submission, as the pipeline makes it of the template and release-config.yaml.
func catalogOf(t *testing.T) []map[string]any {
	t.Helper()
	s := readSubmissionIn(t, submissionTo(t, prod))
	templates := mapsIn(s.newest.release["catalog_templates"])
	if len(templates) != 1 {
		t.Fatalf("release-config.yaml has %d templates, not one", len(templates))
	}
	template, err := readMap(filepath.Join(s.folder, "catalog-templates", textAt(templates[0], "template_name")))
	if err != nil {
		t.Fatal(err)
	}
	amend(template, templates[0], s.newest.csvName(), allowedRegistries[0]+Package+":"+s.newest.version())
	catalog, err := renderTemplate(template, s.newest.folder)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func TestTheCatalogOfASubmission(t *testing.T) {
	catalog := catalogOf(t)
	for _, f := range slices.Concat(checkBundleImages(catalog), checkBundleObjects(catalog)) {
		t.Error(f.message)
	}
	var got []string
	for _, blob := range catalog {
		switch blob["schema"] {
		case "olm.package":
			got = append(got, fmt.Sprint(blob["name"], " by default ", blob["defaultChannel"]))
		case "olm.channel":
			got = append(got, fmt.Sprint(blob["name"], " has ", blob["entries"]))
		case "olm.bundle":
			got = append(got, fmt.Sprint(blob["name"]))
		}
	}
	current := csvOf(t, within(t, "bundle")).Name
	want := []string{Package + " by default " + Channel, Channel + " has [map[name:" + current + "]]", current}
	if !slices.Equal(got, want) {
		t.Errorf("the catalog has %q, not %q", got, want)
	}
}

func TestWhatThePipelineRefusesOfACatalogIsFound(t *testing.T) {
	catalog := catalogOf(t)
	for words, fault := range map[string]func(bundle map[string]any){
		"ghcr.io/mast, which is in none of": func(bundle map[string]any) { bundle["image"] = "ghcr.io/mast" },
		"has a property olm.bundle.object": func(bundle map[string]any) {
			bundle["properties"] = append(bundle["properties"].([]any), map[string]any{"type": "olm.bundle.object"})
		},
	} {
		for _, blob := range catalog {
			if blob["schema"] == "olm.bundle" {
				fault(blob)
			}
		}
		found := slices.Concat(checkBundleImages(catalog), checkBundleObjects(catalog))
		if !slices.ContainsFunc(found, func(f finding) bool { return f.fails && strings.Contains(f.message, words) }) {
			t.Errorf("not %q but %v", words, found)
		}
	}
}

// The catalogs that are made for OpenShift are those of the versions that the bundle is for.
func TestTheCatalogsOfASubmissionAreForItsVersions(t *testing.T) {
	s := readSubmissionIn(t, submissionTo(t, prod))
	first, last, err := selected(textAt(s.newest.annotations, openshiftVersions))
	if err != nil {
		t.Fatal(err)
	}
	for _, mapping := range mapsIn(lookUp(s.config, "fbc.catalog_mapping")) {
		catalogs := texts(mapping["catalog_names"])
		if len(catalogs) == 0 || catalogs[0] != fmt.Sprintf("v4.%d", first) {
			t.Errorf("the catalogs %v do not start with v4.%d", catalogs, first)
		}
		for _, catalog := range catalogs {
			if version, err := minorOf(catalog, 4); err != nil || version < first || version > last {
				t.Errorf("the bundle is not for the catalog %s: %v", catalog, err)
			}
		}
	}
}
