package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// The media types by which Helm knows a chart in a registry (pkg/registry/constants.go of Helm 4.3).
const (
	chartConfigType  = "application/vnd.cncf.helm.config.v1+json"
	chartContentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chartImage is a packed chart as registries have it.
type chartImage struct {
	name  string // with registry and tag, next to the operator's image
	image v1.Image
	// repository and digest of the operator's image, as the values name it.
	repository, digest string
}

// readChart reads a packed chart. It is the image that `helm push` makes, without the time of the push: the same chart has always the same
// digest.
func readChart(file string) (chartImage, error) {
	packed, err := os.ReadFile(file)
	if err != nil {
		return chartImage{}, err
	}
	chart, err := chartImageOf(packed)
	if err != nil {
		return chartImage{}, fmt.Errorf("%s: %w", file, err)
	}
	return chart, nil
}

func chartImageOf(packed []byte) (chartImage, error) {
	facts, err := readFacts(packed)
	if err != nil {
		return chartImage{}, err
	}
	if facts.Version == "" || facts.values.Repository == "" || facts.values.Digest == "" {
		return chartImage{}, fmt.Errorf("it has version %q, image.repository %q and image.digest %q: make release sets them", facts.Version,
			facts.values.Repository, facts.values.Digest)
	}
	const prefix = "org.opencontainers.image."
	image, err := artifactOf(facts.config, packed, map[string]string{prefix + "title": chartFolder, prefix + "version": facts.Version,
		prefix + "description": facts.Description, prefix + "url": facts.Home, prefix + "source": source})
	return chartImage{name: path.Dir(facts.values.Repository) + "/charts/" + chartFolder + ":" + facts.Version, image: image,
		repository: facts.values.Repository, digest: facts.values.Digest}, err
}

// chartFacts are what the files of a chart say.
type chartFacts struct {
	Version, Description, Home string
	config                     []byte // Chart.yaml as JSON
	values                     struct{ Repository, Digest string }
}

func readFacts(packed []byte) (chartFacts, error) {
	layer, err := tarball.LayerFromOpener(opener(packed))
	if err != nil {
		return chartFacts{}, err
	}
	files, err := filesIn(layer)
	if err != nil {
		return chartFacts{}, err
	}
	texts := map[string][]byte{}
	for _, f := range files {
		texts[strings.TrimPrefix(f.name, chartFolder+"/")] = f.content
	}
	var facts chartFacts
	if facts.config, err = yaml.YAMLToJSON(texts["Chart.yaml"]); err == nil {
		err = json.Unmarshal(facts.config, &facts)
	}
	if err != nil {
		return chartFacts{}, fmt.Errorf("its Chart.yaml: %w", err)
	}
	var values struct {
		Image struct{ Repository, Digest string }
	}
	if err := yaml.Unmarshal(texts["values.yaml"], &values); err != nil {
		return chartFacts{}, fmt.Errorf("its values.yaml: %w", err)
	}
	facts.values = values.Image
	return facts, nil
}

// artifact is an image that no container runs: its config and its only layer have media types of Helm's.
type artifact struct {
	config, manifest []byte
	content          v1.Layer
}

func artifactOf(config, content []byte, annotations map[string]string) (v1.Image, error) {
	layer := static.NewLayer(content, chartContentType)
	listed, err := partial.Descriptor(layer)
	if err != nil {
		return nil, err
	}
	described, err := partial.Descriptor(static.NewLayer(config, chartConfigType))
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: *described,
		Layers: []v1.Descriptor{*listed}, Annotations: annotations})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&artifact{config, manifest, layer})
}

// MediaType of the manifest.
func (*artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// RawConfigFile returns what Chart.yaml says, as JSON.
func (a *artifact) RawConfigFile() ([]byte, error) { return a.config, nil }

// RawManifest returns the manifest's bytes.
func (a *artifact) RawManifest() ([]byte, error) { return a.manifest, nil }

// LayerByDigest returns the only layer.
func (a *artifact) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	if own, err := a.content.Digest(); err != nil || own != digest {
		return nil, fmt.Errorf("the chart has no layer %s", digest)
	}
	return a.content, nil
}
