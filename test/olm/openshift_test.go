package olm

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/mainstay-operator/mainstay-operator/test/console"
)

// annotationsOf a bundle, as its metadata has them.
func annotationsOf(t *testing.T, bundle string) map[string]any {
	t.Helper()
	metadata, err := readMap(filepath.Join(bundle, "metadata", "annotations.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}

func TestEachFeatureIsClaimedOrDenied(t *testing.T) {
	if err := checkFeatures(csvOf(t, within(t, "bundle"))); err != nil {
		t.Error(err)
	}
	tests := regexp.MustCompile(`\bTest\w+`)
	for name, f := range features {
		if f.has && !tests.MatchString(f.reason) {
			t.Errorf("%s is claimed, and its reason names no test that shows it: %s", name, f.reason)
		}
		for _, test := range tests.FindAllString(f.reason, -1) {
			if !testExists(t, test) {
				t.Errorf("%s: there is no %s", name, test)
			}
		}
	}
	for words, fault := range map[string]func(annotations map[string]string){
		`features.operators.openshift.io/csi is "", not "false"`: func(a map[string]string) { delete(a, featurePrefix+"csi") },
		`tls-profiles is "true", not "false"`:                    func(a map[string]string) { a[featurePrefix+"tls-profiles"] = "true" },
		"masts is of no feature":                                 func(a map[string]string) { a[featurePrefix+"masts"] = "true" },
	} {
		csv := csvOf(t, within(t, "bundle")).DeepCopy()
		fault(csv.Annotations)
		finds(t, "the features", checkFeatures(csv), words)
	}
}

// testExists reports whether a Go test of this name is in the tree.
func testExists(t *testing.T, name string) bool {
	t.Helper()
	found := false
	for _, folder := range []string{"controllers", "hack", "test"} {
		if err := filepath.WalkDir(within(t, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			found = found || strings.Contains(string(content), "\nfunc "+name+"(")
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestOpenshiftHasTheOldestKubernetes(t *testing.T) {
	bundle := within(t, "bundle")
	want, err := firstOpenshift(csvOf(t, bundle).Spec.MinKubeVersion)
	if err != nil {
		t.Fatal(err)
	}
	if has := textAt(annotationsOf(t, bundle), openshiftVersions); has != want {
		t.Errorf("annotations.yaml says %q, and minKubeVersion is that of OpenShift %s: OPENSHIFT in the Makefile", has, want)
	}
	dockerfile, err := os.ReadFile(within(t, "bundle.Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	if label := "LABEL " + openshiftVersions + "=" + want + "\n"; strings.Count(string(dockerfile), label) != 1 {
		t.Errorf("bundle.Dockerfile does not say once: %s", label)
	}
	for kubernetes, openshift := range map[string]string{
		"1.13.0": "v4.1", "1.14": "v4.2", "1.15.0": "v4.3", "1.16.0": "v4.3", "1.17.0": "v4.4", "1.22.0": "v4.9", "1.25.0": "v4.12",
		"1.30.0": "v4.17", "1.31.0": "v4.18", "1.32.0": "v4.19"} {
		if got, err := firstOpenshift(kubernetes); err != nil || got != openshift {
			t.Errorf("the first OpenShift with Kubernetes %s is %s, not %s: %v", kubernetes, openshift, got, err)
		}
	}
	for _, wrong := range []string{"", "1", "2.0.0", "1.31.x", "1.999.0"} {
		if got, err := firstOpenshift(wrong); err == nil {
			t.Errorf("Kubernetes %q is in OpenShift %s", wrong, got)
		}
	}
}

func TestMaturityAndChannelAgree(t *testing.T) {
	bundle := within(t, "bundle")
	if err := checkMaturity(csvOf(t, bundle), annotationsOf(t, bundle)); err != nil {
		t.Error(err)
	}
	if channel := channelOf[csvOf(t, bundle).Spec.Maturity]; channel != Channel {
		t.Errorf("the catalog has the channel %s, not %s", Channel, channel)
	}
	if !strings.Contains(Subscription, "\n  channel: "+Channel+"\n") {
		t.Errorf("subscription.yaml does not subscribe to %s", Channel)
	}
	for words, fault := range map[string]func(csv *operators.ClusterServiceVersion, annotations map[string]any){
		`channels.v1 is "candidate", not "stable", as the maturity is stable`: func(csv *operators.ClusterServiceVersion, _ map[string]any) {
			csv.Spec.Maturity = "stable"
		},
		"a version before 1.0.0 is in none that is stable": func(csv *operators.ClusterServiceVersion, a map[string]any) {
			csv.Spec.Maturity, a[bundleChannels], a[bundleDefault] = "stable", "stable", "stable"
		},
		"version 1.2.3 is in channel candidate": func(csv *operators.ClusterServiceVersion, _ map[string]any) {
			csv.Spec.Version.Major, csv.Spec.Version.Minor, csv.Spec.Version.Patch = 1, 2, 3
		},
		`channels.v1 is "stable", not "candidate"`: func(_ *operators.ClusterServiceVersion, a map[string]any) {
			a[bundleChannels] = "stable"
		},
		`channel.default.v1 is "fast", not "candidate"`: func(_ *operators.ClusterServiceVersion, a map[string]any) {
			a[bundleDefault] = "fast"
		},
		`no channel is known for the maturity "seaworthy"`: func(csv *operators.ClusterServiceVersion, _ map[string]any) {
			csv.Spec.Maturity = "seaworthy"
		},
	} {
		csv, annotations := csvOf(t, bundle).DeepCopy(), annotationsOf(t, bundle)
		fault(csv, annotations)
		finds(t, "the maturity", checkMaturity(csv, annotations), words)
	}
}

func TestTheInitializationResourceIsAnExample(t *testing.T) {
	if err := checkInitialization(csvOf(t, within(t, "bundle"))); err != nil {
		t.Error(err)
	}
	for words, resource := range map[string]string{"is none of the alm-examples": `{"kind": "Mast"}`, "the initialization-resource: ": ""} {
		csv := csvOf(t, within(t, "bundle")).DeepCopy()
		csv.Annotations["operatorframework.io/initialization-resource"] = resource
		finds(t, "the initialization-resource", checkInitialization(csv), words)
	}
}

// TestTheConsoleShowsEachField: without hack/descriptors, this names 53 fields.
func TestTheConsoleShowsEachField(t *testing.T) {
	bundle := within(t, "bundle")
	if err := checkDescriptors(csvOf(t, bundle), filepath.Join(bundle, manifestsDir)); err != nil {
		t.Error(err)
	}
	for words, fault := range map[string]func(owned *operators.CRDDescription){
		"envFrom: the console has no component": func(owned *operators.CRDDescription) {
			owned.SpecDescriptors = dropBelow(owned.SpecDescriptors, "envFrom")
		},
		"masts: the schema has no such field": func(owned *operators.CRDDescription) {
			owned.StatusDescriptors = append(owned.StatusDescriptors, operators.StatusDescriptor{Path: "masts"})
		},
		"there is no CRD masts": func(owned *operators.CRDDescription) { owned.Name = "masts" },
	} {
		csv := csvOf(t, bundle).DeepCopy()
		fault(&csv.Spec.CustomResourceDefinitions.Owned[0])
		finds(t, "the descriptors", checkDescriptors(csv, filepath.Join(bundle, manifestsDir)), words)
	}
}

// dropBelow drops the descriptors of the parts of a field.
func dropBelow(descriptors []operators.SpecDescriptor, field string) []operators.SpecDescriptor {
	return slices.DeleteFunc(descriptors, func(d operators.SpecDescriptor) bool { return console.IsBelow(d.Path, field) })
}
