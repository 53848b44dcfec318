package main

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// architectures that a release has images for, all with Linux.
var architectures = []string{"amd64", "arm64"}

// recipe says what is in an image.
type recipe struct {
	title, description string
	config             v1.Config
	// layers, by architecture.
	layers map[string][]v1.Layer
}

// everywhere gives each architecture the same layers.
func everywhere(layers ...v1.Layer) map[string][]v1.Layer {
	all := map[string][]v1.Layer{}
	for _, architecture := range architectures {
		all[architecture] = layers
	}
	return all
}

// indexOf is an image of all architectures.
func indexOf(a about, r recipe) (v1.ImageIndex, error) {
	labels := a.labels(r.title, r.description)
	for key, value := range r.config.Labels {
		labels[key] = value
	}
	r.config.Labels = labels
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures {
		image, err := imageOf(a, r, architecture)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: platformImage{image, architecture}})
	}
	// Registries show the annotations of an index, which has no labels.
	return mutate.Annotations(index, a.labels(r.title, r.description)).(v1.ImageIndex), nil
}

// platformImage is an image as an index lists it. Without this method it would be listed as an artifact, which it is not.
type platformImage struct {
	v1.Image
	architecture string
}

// Descriptor says what the image is and where it runs.
func (p platformImage) Descriptor() (*v1.Descriptor, error) {
	digest, err := p.Digest()
	if err != nil {
		return nil, err
	}
	size, err := p.Size()
	return &v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: digest, Size: size,
		Platform: &v1.Platform{OS: "linux", Architecture: p.architecture}}, err
}

// imageOf is the image of one architecture.
func imageOf(a about, r recipe, architecture string) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: a.created}
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{Architecture: architecture, OS: "linux", Created: created, Config: r.config,
		RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		return nil, err
	}
	for _, layer := range r.layers[architecture] {
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
			History: v1.History{Created: created, CreatedBy: "make release"}}); err != nil {
			return nil, err
		}
	}
	return image, nil
}
