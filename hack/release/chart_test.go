package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

var testDigest = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("ab", 32)}

// textsOf returns the files of a packed chart by name.
func textsOf(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	layer, err := tarball.LayerFromOpener(opener(packed))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filesIn(layer)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.name] = string(f.content)
	}
	return texts
}

func TestTheChartNamesTheOperatorByDigest(t *testing.T) {
	packed, err := packChart(testAbout(t), testMaterial(), testDigest)
	if err != nil {
		t.Fatal(err)
	}
	files := textsOf(t, packed)
	want := "image:\n  repository: registry.example.com/a/operator\n  digest: " + testDigest.String() + "\n" +
		"relatedImages:\n  redis: docker.io/library/redis:8.0\n"
	if len(files) != 2 || files["mainstay-operator/values.yaml"] != want {
		t.Errorf("the chart has %q", files)
	}
	if values := testMaterial().chart[2]; strings.Contains(string(values.Content), "registry.example.com") {
		t.Error("the chart of the checkout was changed")
	}
}

func TestAChartThatDoesNotFitIsRefused(t *testing.T) {
	for name, change := range map[string]func(*material){
		"another version": func(m *material) { m.chart[1].Content = []byte("version: 1.2.2\n") },
		"no values":       func(m *material) { m.chart = m.chart[:2] },
		"two digests":     func(m *material) { m.chart[2].Content = append(m.chart[2].Content, "  digest: \"\"\n"...) },
		"no repository":   func(m *material) { m.chart[2].Content = []byte("  digest: \"\"\n") },
	} {
		from := testMaterial()
		change(&from)
		if _, err := packChart(testAbout(t), from, testDigest); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// pushAndRead pushes an image to a registry, and returns what the registry has.
func pushAndRead(t *testing.T, image v1.Image) v1.Image {
	t.Helper()
	to := parse(t, serve(t)+"/charts/mainstay-operator:1.2.3")
	if err := remote.Push(to, image); err != nil {
		t.Fatal(err)
	}
	there, err := remote.Image(to)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// The registry has what Helm reads: a manifest with Chart.yaml as its config and the packed chart as its only layer.
func TestTheChartInARegistry(t *testing.T) {
	packed, err := packChart(testAbout(t), testMaterial(), testDigest)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := chartImageOf(packed)
	if err != nil {
		t.Fatal(err)
	}
	if chart.name != "registry.example.com/a/charts/mainstay-operator:1.2.3" || chart.repository != "registry.example.com/a/operator" ||
		chart.digest != testDigest.String() {
		t.Errorf("got %+v", chart)
	}
	there := pushAndRead(t, chart.image)
	manifest, err := there.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Config.MediaType != chartConfigType || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != chartContentType {
		t.Errorf("the manifest is %+v", manifest)
	}
	config, err := there.RawConfigFile()
	if want := `{"apiVersion":"v2","appVersion":"v1.2.3","version":"1.2.3"}`; err != nil || string(config) != want {
		t.Errorf("the config is %s, %v", config, err)
	}
	layers, err := there.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(content); err != nil || !bytes.Equal(got, packed) {
		t.Errorf("the layer has %d bytes, not the %d of the chart: %v", len(got), len(packed), err)
	}
}

func TestAChartThatNamesNoImageOfTheReleaseIsFound(t *testing.T) {
	for name, change := range map[string]func(packed []byte) []byte{
		"another digest": func([]byte) []byte {
			packed, err := packChart(testAbout(t), testMaterial(), testDigest)
			if err != nil {
				t.Fatal(err)
			}
			return packed
		},
		"no digest": func([]byte) []byte {
			packed, err := pack(filesOf(testMaterial().chart))
			if err != nil {
				t.Fatal(err)
			}
			return packed
		},
		"cut off": func(packed []byte) []byte { return packed[:len(packed)/2] },
	} {
		folder := testRelease(t)
		chart := filepath.Join(folder, "mainstay-operator-1.2.3.tgz")
		if err := os.WriteFile(chart, change([]byte(readText(t, chart))), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeSums(folder); err != nil {
			t.Fatal(err)
		}
		if err := check(io.Discard, folder); err == nil || !strings.Contains(err.Error(), "mainstay-operator-1.2.3.tgz") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
