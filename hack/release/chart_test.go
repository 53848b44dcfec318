package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

var testDigest = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("ab", 32)}

func TestTheChartNamesTheOperatorByDigest(t *testing.T) {
	packed, err := packChart(testAbout(t), testMaterial().chart, testDigest)
	if err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil })
	if err != nil {
		t.Fatal(err)
	}
	files, err := filesIn(layer)
	if err != nil {
		t.Fatal(err)
	}
	want := "image:\n  repository: registry.example.com/a/operator\n  digest: " + testDigest.String() + "\n"
	if len(files) != 2 || files[1].name != "mainstay-operator/values.yaml" || string(files[1].content) != want {
		t.Errorf("the chart has %+v", files)
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
		if _, err := packChart(testAbout(t), from.chart, testDigest); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
