package main

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// origin stands for the registry in each image's name.
const origin = "origin"

// fetchOperands returns the images from a registry, under the names that the operator uses. No registry gives no images.
func fetchOperands(ctx context.Context, registry string, images []string) ([]archivedImage, error) {
	if registry == "" {
		return nil, nil
	}
	var fetched []archivedImage
	for _, image := range images {
		from := image
		if registry != origin {
			from = on(registry, image)
		}
		index, err := fetch(ctx, from)
		if err != nil {
			return nil, fmt.Errorf("the image %s: %w", from, err)
		}
		fetched = append(fetched, archivedImage{[]string{image}, index})
	}
	return fetched, nil
}

// fetch an image for the architectures of a release.
func fetch(ctx context.Context, image string) (v1.ImageIndex, error) {
	reference, err := name.ParseReference(image, name.StrictValidation)
	if err != nil {
		return nil, err
	}
	found, err := remote.Get(reference, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return nil, err
	}
	if found.MediaType.IsIndex() {
		index, err := found.ImageIndex()
		if err != nil {
			return nil, err
		}
		return mutate.RemoveManifests(index, unneeded), nil
	}
	single, err := found.Image()
	if err != nil {
		return nil, err
	}
	config, err := single.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: single,
		Descriptor: v1.Descriptor{Platform: config.Platform()}}), nil
}

// unneeded reports whether a listed image is not for Linux on an architecture of a release.
func unneeded(listed v1.Descriptor) bool {
	for _, architecture := range architectures {
		if p := listed.Platform; p != nil && p.OS == "linux" && p.Architecture == architecture {
			return false
		}
	}
	return true
}
