package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// describe returns the SBOM of an image with these files.
func describe(t *testing.T, files ...file) *spdx.Document {
	t.Helper()
	layer, err := layerOf(files)
	if err != nil {
		t.Fatal(err)
	}
	index, err := indexOf(testAbout(t), recipe{layers: everywhere(layer), config: v1.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	content, err := sbom(testAbout(t), releaseImage{"mainstay-operator", testImage, index})
	if err != nil {
		t.Fatal(err)
	}
	var document spdx.Document
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	return &document
}

// The program that is described is this test.
func TestAnSBOMNamesWhatTheGoCommandNames(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, p := range describe(t, file{"manager", 0o755, content}).Packages {
		versions[p.PackageName] = p.PackageVersion
	}
	printed, err := exec.CommandContext(t.Context(), "go", "version", "-m", binary).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	named := 2 // the image and the standard library
	for line := range strings.Lines(string(printed)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && strings.HasPrefix(words[1], "go1."):
			if versions["stdlib"] != strings.TrimPrefix(words[1], "go") {
				t.Errorf("the SBOM has Go %s, and go version -m %s", versions["stdlib"], words[1])
			}
		case len(words) > 2 && (words[0] == "dep" || words[0] == "mod"):
			named++
			want := strings.Replace(words[2], "(devel)", "v1.2.3", 1)
			if strings.HasPrefix(words[1], "github.com/mainstay-operator/") {
				want = "v1.2.3"
			}
			if versions[words[1]] != want {
				t.Errorf("the SBOM has %s %s, and go version -m %s", words[1], versions[words[1]], want)
			}
		}
	}
	if named < 5 || len(versions) != named {
		t.Errorf("the SBOM names %d packages, and go version -m %d: %s", len(versions), named, printed)
	}
}

func TestAnSBOMNamesEachFileOnce(t *testing.T) {
	document := describe(t, file{"a/", 0o755, nil}, file{"a/b.yaml", 0o644, []byte("b")}, file{"a/b-yaml", 0o644, []byte("c")})
	if len(document.Files) != 2 || document.Files[0].FileName != "./a/b.yaml" {
		t.Fatalf("files %v", document.Files)
	}
	if document.Files[0].FileSPDXIdentifier == document.Files[1].FileSPDXIdentifier {
		t.Errorf("both have the identifier %s", document.Files[0].FileSPDXIdentifier)
	}
	if len(document.Packages) != 1 || document.Packages[0].PackageVerificationCode == nil {
		t.Errorf("packages %v", document.Packages)
	}
	if document.CreationInfo.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("created %s", document.CreationInfo.Created)
	}
}
