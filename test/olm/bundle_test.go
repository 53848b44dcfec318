package olm

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mainstay-operator/mainstay-operator/controllers"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// within gives the path of a file of the tree.
func within(t *testing.T, path string) string {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, path)
}

// kept are the bundles of all releases that are kept, the oldest first.
func kept(t *testing.T) []string {
	t.Helper()
	folders, err := releases.Kept(within(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	var bundles []string
	for _, folder := range folders {
		bundles = append(bundles, filepath.Join(folder, "bundle"))
	}
	return bundles
}

func last(t *testing.T) string {
	t.Helper()
	folder, err := releases.Last(within(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func csvOf(t *testing.T, bundle string) *operators.ClusterServiceVersion {
	t.Helper()
	csvs, err := CSVs(bundle)
	if err != nil {
		t.Fatal(err)
	}
	return csvs[0]
}

func TestOperatorSDKFindsNothing(t *testing.T) {
	if err := Lint(within(t, "bundle")); err != nil {
		t.Error(err)
	}
}

func TestValidatorsFindNothing(t *testing.T) {
	if err := Validate(within(t, "bundle")); err != nil {
		t.Error(err)
	}
}

func TestEveryOLMInstallsTheBundle(t *testing.T) {
	if err := Installable(within(t, "bundle")); err != nil {
		t.Error(err)
	}
}

// OperatorHub shows the level, which docs/capability-levels.md explains.
func TestTheCapabilityLevel(t *testing.T) {
	if level := csvOf(t, within(t, "bundle")).Annotations["capabilities"]; level != "Full Lifecycle" {
		t.Errorf("the bundle says %q", level)
	}
}

func TestScorecardSuggestsNothing(t *testing.T) {
	if err := Scorecard(within(t, "bundle")); err != nil {
		t.Error(err)
	}
}

// A permitted restriction that the last release has already is not an exception any more.
func TestCRDsFitTheLastRelease(t *testing.T) {
	used, err := compareCRDs(filepath.Join(last(t), "bundle"), within(t, "bundle"))
	if err != nil {
		t.Error(err)
	}
	exceptions := append(slices.Sorted(maps.Keys(permittedRules)), slices.Sorted(maps.Keys(loosenedRules))...)
	for _, restriction := range append(exceptions, guard.String(), permittedDefault) {
		if used[restriction] == 0 {
			t.Errorf("no field of the last release comes to have this: take it out of exceptions.go: %s", restriction)
		}
	}
}

func TestObjectsOfEveryReleaseAreAccepted(t *testing.T) {
	folders, err := releases.Kept(within(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if err := StoredObjects(folder, within(t, "bundle")); err != nil {
			t.Errorf("%s: %v", filepath.Base(folder), err)
		}
	}
}

// OLM's upgrades start with the last release, built from its source.
func TestTheSourceOfEveryReleaseIsHere(t *testing.T) {
	folders, err := releases.Kept(within(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		release, err := keptIn(folder)
		if err != nil {
			t.Fatal(err)
		}
		source := filepath.Join(t.TempDir(), "source")
		if err := release.unpack(t.Context(), within(t, ""), source); err != nil {
			t.Error(err)
		} else if !exists(filepath.Join(source, "main.go")) {
			t.Errorf("%s has no main.go", release.Name)
		}
	}
}

func TestCatalog(t *testing.T) {
	bundles, err := Bundles(within(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckCatalog(bundles...); err != nil {
		t.Error(err)
	}
}

// TestExamples: what a console offers for each kind is an object that the API
// server takes, with the status that it shows.
func TestExamples(t *testing.T) {
	csv := csvOf(t, within(t, "bundle"))
	var examples []json.RawMessage
	if err := json.Unmarshal([]byte(csv.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, example := range examples {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(example); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, obj.GetKind())
		schema, err := releases.SchemaFor(within(t, "bundle/manifests"), obj)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := schema.Read(obj); err != nil {
			t.Error(err)
		}
		if err := schema.Validate(obj); err != nil {
			t.Error(err)
		}
	}
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		if !slices.Contains(kinds, owned.Kind) {
			t.Errorf("%s has no example", owned.Kind)
		}
	}
}

// TestRelatedImages: a cluster without internet mirrors what the CSV lists; a
// default image that is missing there would be found out by a pod.
func TestRelatedImages(t *testing.T) {
	csv := csvOf(t, within(t, "bundle"))
	var related []string
	for _, image := range csv.Spec.RelatedImages {
		related = append(related, image.Image)
	}
	t.Setenv("RELATED_IMAGE_OPERATOR", csv.Annotations["containerImage"]) // as the Deployment does
	for field, image := range defaultImages() {
		if !slices.Contains(related, image) {
			t.Errorf("%s, the default of %s, is not among the related images %v", image, field, related)
		}
	}
}

// defaultImages gives each default image of the operator, and its place in controllers.Images.
func defaultImages() map[string]string {
	found := map[string]string{}
	images := reflect.ValueOf(controllers.ImagesFromEnv())
	for i := range images.NumField() {
		name, field := images.Type().Field(i).Name, images.Field(i)
		if field.Kind() != reflect.Array {
			found[name] = field.String()
			continue
		}
		for j := range field.Len() {
			found[fmt.Sprintf("%s[%d]", name, j)] = field.Index(j).String()
		}
	}
	return found
}

// TestEachDefaultImageCanBeChosen: a disconnected cluster names its own copies of the images by these variables.
func TestEachDefaultImageCanBeChosen(t *testing.T) {
	for _, deployment := range csvOf(t, within(t, "bundle")).Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, container := range deployment.Spec.Template.Spec.Containers {
			for _, variable := range container.Env {
				if strings.HasPrefix(variable.Name, "RELATED_IMAGE_") {
					t.Setenv(variable.Name, "chosen/"+variable.Name)
				}
			}
		}
	}
	seen := map[string]bool{}
	for field, image := range defaultImages() {
		if !strings.HasPrefix(image, "chosen/") || seen[image] {
			t.Errorf("Images.%s is %s: it needs a RELATED_IMAGE_ variable of its own in config/manager/manager.yaml", field, image)
		}
		seen[image] = true
	}
}

func TestManagerImageIsTheAnnounced(t *testing.T) {
	csv := csvOf(t, within(t, "bundle"))
	for _, deployment := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, container := range deployment.Spec.Template.Spec.Containers {
			if container.Image != csv.Annotations["containerImage"] {
				t.Errorf("%s runs %s, and the CSV announces %s", container.Name, container.Image, csv.Annotations["containerImage"])
			}
		}
	}
}

// TestEveryImageHoldsAllPrograms: an image without one of them runs, until it is needed. A release has those that the Dockerfile builds.
func TestEveryImageHoldsAllPrograms(t *testing.T) {
	content, err := os.ReadFile(within(t, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	dockerfile, copied := string(content), "COPY --from=build"
	for _, program := range Programs {
		built := " -o /" + program.Name + " ."
		if program.Source != "." {
			built += "/" + program.Source
		}
		if !strings.Contains(dockerfile, built+"\n") && !strings.Contains(dockerfile, built+" && ") {
			t.Errorf("the Dockerfile does not build %s", program.Name)
		}
		copied += " /" + program.Name
	}
	if !strings.Contains(dockerfile, copied+" /\n") {
		t.Errorf("the Dockerfile does not say %q", copied)
	}
	if built := strings.Count(dockerfile, "go build "); built != len(Programs) {
		t.Errorf("the Dockerfile builds %d programs, not %d", built, len(Programs))
	}
}

func TestIconIsTheDrawnOne(t *testing.T) {
	drawn, err := os.ReadFile(within(t, "config/manifests/icon.svg"))
	if err != nil {
		t.Fatal(err)
	}
	icon := csvOf(t, within(t, "bundle")).Spec.Icon[0]
	if icon.Data != base64.StdEncoding.EncodeToString(drawn) {
		t.Error("the icon in config/manifests/bases is not config/manifests/icon.svg: base64 -w0")
	}
}
