package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// serve an empty registry, and return its host.
func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// pushedOf are the files of a release that are pushed: all archives but the one for clusters without a network, and the chart.
func pushedOf(t *testing.T, folder string) []string {
	t.Helper()
	var pushed []string
	for _, pattern := range []string{"*.tar", "*.tgz"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pushed = append(pushed, found...)
	}
	return slices.DeleteFunc(pushed, func(path string) bool { return strings.Contains(path, "offline") })
}

func TestPush(t *testing.T) {
	host, folder := serve(t), testRelease(t)
	var checked, printed strings.Builder
	if err := check(&checked, folder); err != nil {
		t.Fatal(err)
	}
	if err := push(t.Context(), &printed, host, pushedOf(t, folder)); err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(checked.String(), "registry.example.com", host); printed.String() != want {
		t.Errorf("pushed %s, and the release has %s", printed.String(), want)
	}
	for pushed := range strings.Lines(printed.String()) {
		image, digest, _ := strings.Cut(strings.TrimSpace(pushed), "@")
		there, err := remote.Get(parse(t, image))
		if err != nil {
			t.Fatal(err)
		}
		if got := there.Digest.String(); got != digest {
			t.Errorf("%s is %s, not %s", image, got, digest)
		}
		if !there.MediaType.IsIndex() { // the chart
			continue
		}
		index, err := there.ImageIndex()
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", image, err)
		}
	}
	if err := push(t.Context(), io.Discard, host, pushedOf(t, folder)); err != nil {
		t.Errorf("the same again: %v", err)
	}
}

// A user who trusts a tag must not get something else later, and no part of a release that is refused.
func TestATagIsNeverMoved(t *testing.T) {
	host, folder := serve(t), testRelease(t)
	taken := parse(t, host+"/a/operator-catalog:v1.2.3")
	foreign, err := random.Index(10, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(taken, foreign); err != nil {
		t.Fatal(err)
	}
	if err := push(t.Context(), io.Discard, host, pushedOf(t, folder)); err == nil || !strings.Contains(err.Error(), "raise the version") {
		t.Errorf("a tag that is another image's: %v", err)
	}
	if _, err := remote.Head(parse(t, host+"/a/operator:v1.2.3")); err == nil {
		t.Error("another image of the release was tagged")
	}
}

func TestPushRefusesWhatIsNoArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := push(t.Context(), io.Discard, "", []string{path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("pushed %v", err)
	}
	if err := writeFile(path, func(w io.Writer) error { return writeTar(w, map[string]blob{"../outside": blobOf(nil)}) }); err != nil {
		t.Fatal(err)
	}
	if err := push(t.Context(), io.Discard, "", []string{path}); err == nil || !strings.Contains(err.Error(), "../outside") {
		t.Errorf("a file outside of the layout: %v", err)
	}
}

func parse(t *testing.T, image string) name.Reference {
	t.Helper()
	reference, err := name.ParseReference(image, name.StrictValidation)
	if err != nil {
		t.Fatal(err)
	}
	return reference
}

// The archive has operands of either form under the names that pods use, for the architectures of a release.
func TestOperandsInTheOfflineArchive(t *testing.T) {
	host := serve(t)
	listed := mutate.IndexMediaType(empty.Index, "application/vnd.oci.image.index.v1+json")
	for _, platform := range []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "s390x"},
		{OS: "linux", Architecture: "arm64", Variant: "v8"}, {OS: "unknown", Architecture: "unknown"}} {
		listed = mutate.AppendManifests(listed, mutate.IndexAddendum{Add: randomImage(t, platform),
			Descriptor: v1.Descriptor{Platform: &platform}})
	}
	if err := remote.WriteIndex(parse(t, host+"/library/redis:8.0"), listed); err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(parse(t, host+"/coreos/etcd:v3"), randomImage(t, v1.Platform{OS: "linux", Architecture: "amd64"})); err != nil {
		t.Fatal(err)
	}
	images := []string{"docker.io/library/redis:8.0", "quay.io/coreos/etcd:v3"}
	fetched, err := fetchOperands(t.Context(), host, images)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "offline.tar")
	if err := writeArchive(path, fetched...); err != nil {
		t.Fatal(err)
	}
	read, err := readArchive(path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, count := range []int{2, 1} {
		index := read[images[i]]
		if index == nil {
			t.Fatalf("the archive has no %s", images[i])
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", images[i], err)
		}
		if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) != count {
			t.Errorf("%s is for %d architectures, not %d: %v", images[i], len(manifest.Manifests), count, err)
		}
	}
	if none, err := fetchOperands(t.Context(), "", images); err != nil || len(none) != 0 {
		t.Errorf("without a registry: %d images, %v", len(none), err)
	}
	if _, err := fetchOperands(t.Context(), host, []string{"docker.io/library/absent:1"}); err == nil {
		t.Error("an image that is not there must be an error")
	}
}

// A digest is that of all architectures, so an image that is named by it is archived whole, under both names that a runtime looks up.
func TestAnOperandWithADigestKeepsIt(t *testing.T) {
	host := serve(t)
	digest := pushIndex(t, host+"/library/redis:8.0")
	fetched, err := fetchOperands(t.Context(), host, []string{"docker.io/library/redis:8.0@" + digest})
	if err != nil {
		t.Fatal(err)
	}
	got, err := fetched[0].index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"docker.io/library/redis:8.0", "docker.io/library/redis@" + digest}; got.String() != digest ||
		!slices.Equal(fetched[0].names, want) {
		t.Errorf("the archive has %s as %q, not %s as %q", got, fetched[0].names, digest, want)
	}
	single := randomImage(t, v1.Platform{OS: "linux", Architecture: "amd64"})
	if err := remote.Write(parse(t, host+"/library/single:1"), single); err != nil {
		t.Fatal(err)
	}
	if got, err = single.Digest(); err != nil {
		t.Fatal(err)
	}
	if _, err := fetchOperands(t.Context(), host, []string{"docker.io/library/single:1@" + got.String()}); err == nil ||
		!strings.Contains(err.Error(), "one architecture") {
		t.Errorf("an image for one architecture: %v", err)
	}
}

func randomImage(t *testing.T, platform v1.Platform) v1.Image {
	t.Helper()
	image, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}
