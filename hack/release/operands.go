package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
		tagged, _, _ := strings.Cut(image, "@")
		names := slices.Compact([]string{tagged, forCopies(image)})
		fetched = append(fetched, archivedImage{names, index})
	}
	return fetched, nil
}

// fetch an image: for the architectures of a release, or for all that it has if it is named by its digest, which must stay.
func fetch(ctx context.Context, image string) (v1.ImageIndex, error) {
	reference, err := name.ParseReference(image, name.StrictValidation)
	if err != nil {
		return nil, err
	}
	_, pinned := reference.(name.Digest)
	found, err := remote.Get(reference, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return nil, err
	}
	if found.MediaType.IsIndex() {
		index, err := found.ImageIndex()
		if err != nil {
			return nil, err
		}
		if pinned {
			return index, nil
		}
		return mutate.RemoveManifests(index, unneeded), nil
	}
	if pinned {
		return nil, errors.New("its digest is that of an image for one architecture: make digests writes that of all")
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
