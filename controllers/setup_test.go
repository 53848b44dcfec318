package controllers

import (
	"os"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestAReleaseKnowsEachDefaultImage compares hack/release/operands.yaml, where a release finds the digests of the operands, with the
// code.
func TestAReleaseKnowsEachDefaultImage(t *testing.T) {
	content, err := os.ReadFile("../hack/release/operands.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var listed []struct{ Image, Digest string }
	if err := yaml.UnmarshalStrict(content, &listed); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, operand := range listed {
		got = append(got, operand.Image)
	}
	for _, k := range kinds {
		if k.defaultImages != nil {
			want = append(want, k.defaultImages(ImagesFromEnv())...)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("hack/release/operands.yaml has %q, and the operator's defaults are %q", got, want)
	}
}
