package main

import (
	"strings"
	"testing"
)

// make bundle writes the time at which it runs, so two clones of one commit have bundles of two dates.
func TestABundleHasTheDateOfTheCommit(t *testing.T) {
	const commit = "2023-11-14T22:13:20Z" // that of testAbout
	released := func(csv string) (string, error) { return releasedCSV(testAbout(t), csv, testImage+"@d", nil) }
	first, err := released(testCSV)
	if err != nil {
		t.Fatal(err)
	}
	second, err := released(strings.Replace(testCSV, "2026-11-28T17:33:25Z", "2026-11-29T03:04:05Z", 1))
	if err != nil {
		t.Fatal(err)
	}
	if first != second || !strings.Contains(first, "\n    createdAt: \""+commit+"\"\n") {
		t.Errorf("the dates of %s and of %s must be %s", first, second, commit)
	}
	for name, csv := range map[string]string{
		"no date":     strings.Replace(testCSV, "createdAt", "changedAt", 1),
		"another one": testCSV + "    createdAt: \"2026-11-29T03:04:05Z\"\n",
	} {
		if _, err := released(csv); err == nil {
			t.Errorf("%s must be an error", name)
		}
	}
}

// The release is the same whatever date the bundle of the checkout has.
func TestAReleaseHasNoDateButThatOfTheCommit(t *testing.T) {
	from := testMaterial()
	csv := &from.bundle.Files[1]
	csv.Content = []byte(strings.Replace(string(csv.Content), "2026-11-28T17:33:25Z", "2026-11-29T03:04:05Z", 1))
	folder := t.TempDir()
	if err := assemble(folder, testAbout(t), from); err != nil {
		t.Fatal(err)
	}
	if err := writeSums(folder); err != nil {
		t.Fatal(err)
	}
	if got, want := readText(t, folder, sumsFile), readText(t, testRelease(t), sumsFile); got != want {
		t.Errorf("the sums are %s, and of another clone %s", got, want)
	}
}

// The date that is written is that of the bundle that make bundle writes.
func TestTheBundleOfTheCheckoutCanBeReleased(t *testing.T) {
	csv := readText(t, "../../bundle/manifests/mainstay-operator.clusterserviceversion.yaml")
	if found := createdAt.FindAllString(csv, -1); len(found) != 1 {
		t.Errorf("the bundle has the dates %q", found)
	}
}
