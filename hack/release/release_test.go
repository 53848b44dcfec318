package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/scratch"
)

const (
	testImage     = "registry.example.com/a/operator:v1.2.3"
	testManifests = `apiVersion: v1
kind: Namespace
metadata:
  name: system
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: queues
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: manager
        env:
        - name: RELATED_IMAGE_OPERATOR
          value: registry.example.com/a/operator:v1.2.3
        - name: RELATED_IMAGE_REDIS
          value: docker.io/library/redis:8.0
        image: registry.example.com/a/operator:v1.2.3
`
	testCSV = `metadata:
  annotations:
    containerImage: registry.example.com/a/operator:v1.2.3
    createdAt: "2026-11-28T17:33:25Z"
    features.operators.openshift.io/disconnected: "false"
spec:
  relatedImages:
  - image: registry.example.com/a/operator:v1.2.3
    name: operator
  - image: docker.io/library/redis:8.0
    name: redis
`
)

func testAbout(t *testing.T) about {
	t.Helper()
	a, err := newAbout(testImage, "1.2.3", "0123abc", 1700000000)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// testMaterial has small files in place of binaries.
func testMaterial() material {
	return material{
		binaries: map[string][]file{
			"amd64": {{"manager", 0o755, []byte("amd64's")}, {"guard", 0o755, []byte("another")}},
			"arm64": {{"manager", 0o755, []byte("arm64's")}, {"guard", 0o755, []byte("another")}},
		},
		manifests: testManifests,
		bundle: scratch.Image{Labels: map[string]string{"package": "operator"}, Files: []scratch.File{{Name: "manifests/"},
			{Name: "manifests/operator.clusterserviceversion.yaml", Content: []byte(testCSV)}}},
		chart: []scratch.File{{Name: "mainstay-operator/"},
			{Name: "mainstay-operator/Chart.yaml", Content: []byte("apiVersion: v2\nversion: 1.2.3\nappVersion: v1.2.3\n")},
			{Name: "mainstay-operator/values.yaml", Content: []byte("image:\n  repository: example.com/other\n  digest: \"\"\n" +
				"relatedImages:\n  redis: docker.io/library/redis:8.0\n")}},
		catalog: func(bundle []scratch.File, image string) (string, error) {
			return string(bundle[1].Content) + "image: " + image + "\n", nil
		},
		operands: operandList{{Image: "docker.io/library/redis:8.0"}},
		fetch:    func([]string) ([]archivedImage, error) { return nil, nil },
	}
}

// testRelease writes a release into a new folder.
func testRelease(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := assemble(folder, testAbout(t), testMaterial()); err != nil {
		t.Fatal(err)
	}
	if err := writeSums(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

func readText(t *testing.T, elements ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestAReleaseIsWholeAndAlwaysTheSame(t *testing.T) {
	first, second := testRelease(t), testRelease(t)
	var printed strings.Builder
	if err := check(&printed, first); err != nil {
		t.Fatal(err)
	}
	sums := readText(t, first, sumsFile)
	if other := readText(t, second, sumsFile); sums != other {
		t.Errorf("sums %s, and then %s", sums, other)
	}
	for _, name := range []string{"install.yaml", "operator.yaml", "crds.yaml", "catalog.yaml", "images.txt",
		"mainstay-operator-1.2.3.tgz", "mainstay-operator-v1.2.3.tar",
		"mainstay-operator-v1.2.3.spdx.json", "mainstay-operator-bundle-v1.2.3.tar",
		"mainstay-operator-bundle-v1.2.3.spdx.json", "mainstay-operator-catalog-v1.2.3.tar",
		"mainstay-operator-catalog-v1.2.3.spdx.json", "mainstay-operator-offline-v1.2.3.tar"} {
		if !strings.Contains(sums, "  "+name+"\n") {
			t.Errorf("%s has no %s", sumsFile, name)
		}
	}
	lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "registry.example.com/a/charts/mainstay-operator:1.2.3@sha256:") ||
		!strings.HasPrefix(lines[3], testImage+"@sha256:") {
		t.Fatalf("printed %q", lines)
	}
	if got := strings.Count(readText(t, first, "install.yaml"), ": "+lines[3]+"\n"); got != 2 {
		t.Errorf("install.yaml names the operator's image by its digest %d times", got)
	}
	list := strings.Split(readText(t, first, "images.txt"), "\n")
	if want := strings.Replace(lines[3], ":v1.2.3@", "@", 1); list[0] != want || list[3] != "docker.io/library/redis:8.0" {
		t.Errorf("images.txt lists %q, and starts not with %s", list, want)
	}
}

// operatorImages are those of each architecture.
func operatorImages(t *testing.T) []v1.Image {
	t.Helper()
	index, err := operatorImage(testAbout(t), testMaterial().binaries)
	if err != nil {
		t.Fatal(err)
	}
	images, err := partial.FindImages(index, func(listed v1.Descriptor) bool { return listed.ArtifactType == "" })
	if err != nil || len(images) != len(architectures) {
		t.Fatalf("%d images, %v", len(images), err)
	}
	return images
}

func TestWhatTheOperatorsImageHas(t *testing.T) {
	for i, image := range operatorImages(t) {
		found, err := filesOfImage(image)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]file{}
		for _, f := range found {
			files[f.name] = f
		}
		if string(files["manager"].content) != architectures[i]+"'s" || files["guard"].mode != 0o755 {
			t.Errorf("%s has %v", architectures[i], files)
		}
		if count := strings.Count(string(files[authorities].content), "BEGIN CERTIFICATE"); count < 50 {
			t.Errorf("%s has %d certificates of public authorities", architectures[i], count)
		}
	}
	if _, err := operatorImage(testAbout(t), map[string][]file{"amd64": {{"manager", 0o755, nil}}}); err == nil {
		t.Error("an image without binaries for arm64 must be an error")
	}
}

func TestWhatTheOperatorsImageSays(t *testing.T) {
	for i, image := range operatorImages(t) {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if p := config.Platform().String(); p != "linux/"+architectures[i] || config.Created.Unix() != 1700000000 {
			t.Errorf("it is for %s, created %s", p, config.Created)
		}
		if c := config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/manager"}) {
			t.Errorf("user %s starts %q", c.User, c.Entrypoint)
		}
		for label, want := range map[string]string{"source": source, "version": "v1.2.3", "revision": "0123abc", "licenses": license} {
			if got := config.Config.Labels["org.opencontainers.image."+label]; got != want {
				t.Errorf("the label %s is %q, not %q", label, got, want)
			}
		}
	}
}

// A fault that is planted into a release, with its sums as they should be, is found.
func TestCheckFindsEachFault(t *testing.T) {
	digest := referenceByDigest.FindString(readText(t, testRelease(t), "install.yaml"))
	other := digest[:len(digest)-64] + strings.Repeat("0", 64)
	for name, plant := range map[string]func(folder string) error{
		"a wrong sum": func(folder string) error {
			return os.WriteFile(filepath.Join(folder, sumsFile), []byte("0  install.yaml\n"), 0o644)
		},
		"another digest in a manifest": replaceIn("install.yaml", digest, other),
		"no digest in a manifest":      replaceIn("operator.yaml", digest, testImage),
		"one name without digest":      replaceIn("install.yaml", "image: "+digest, "image: "+testImage),
		"an archive of another image": func(folder string) error {
			archive := filepath.Join(folder, "mainstay-operator-v1.2.3.tar")
			binaries := testMaterial().binaries
			binaries["arm64"][0].content = []byte("changed")
			changed, err := operatorImage(testAbout(t), binaries)
			if err != nil {
				return err
			}
			return writeArchive(archive, archivedImage{[]string{testImage}, changed})
		},
		"an archive without an image": func(folder string) error {
			return writeArchive(filepath.Join(folder, "mainstay-operator-offline-v1.2.3.tar"))
		},
		"a blob of another content": replaceIn("mainstay-operator-bundle-v1.2.3.tar", `"os":"linux"`, `"os":"Linux"`),
	} {
		folder := testRelease(t)
		if err := plant(folder); err != nil {
			t.Fatal(err)
		}
		if name != "a wrong sum" {
			if err := writeSums(folder); err != nil {
				t.Fatal(err)
			}
		}
		if err := check(io.Discard, folder); err == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// An image that cannot run on one of its architectures is found: this test was built for one alone.
func TestAProgramOfAnotherArchitectureIsFound(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	layer, err := layerOf([]file{{"manager", 0o755, content}})
	if err != nil {
		t.Fatal(err)
	}
	index, err := indexOf(testAbout(t), recipe{layers: everywhere(layer)})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkImage(index); err == nil || !strings.Contains(err.Error(), "was built for "+runtime.GOARCH) {
		t.Errorf("found %v", err)
	}
}

func replaceIn(name, from, to string) func(string) error {
	return func(folder string) error {
		path := filepath.Join(folder, name)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.ReplaceAll(string(content), from, to)), 0o644)
	}
}

func TestWhatDescribesAReleaseMustBeWhole(t *testing.T) {
	for name, from := range map[string]func(*material){
		"manifests that do not name the image": func(m *material) { m.manifests = strings.ReplaceAll(m.manifests, testImage, "x") },
		"a bundle that does not name it":       func(m *material) { m.bundle.Files[1].Content = []byte("a: b\n") },
		"a catalog that does not name the bundle": func(m *material) {
			m.catalog = func([]scratch.File, string) (string, error) { return "", nil }
		},
		"manifests without a definition": func(m *material) { m.manifests = strings.ReplaceAll(m.manifests, "CustomResource", "") },
		"a Deployment that names no operand": func(m *material) {
			m.manifests = strings.ReplaceAll(m.manifests, "RELATED_IMAGE_REDIS", "OTHER")
		},
	} {
		m := testMaterial()
		from(&m)
		if err := assemble(t.TempDir(), testAbout(t), m); err == nil {
			t.Errorf("%s must be an error", name)
		}
	}
	for _, image := range []string{"operator", "registry.example.com/a/operator", "registry.example.com/a/operator@sha256:0123"} {
		if _, err := newAbout(image, "1.2.3", "0123abc", 1); err == nil {
			t.Errorf("--image %s must be an error", image)
		}
	}
}
