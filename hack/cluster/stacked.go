package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// firstOnPath is the folder in which a program is found before those of a distribution.
const firstOnPath = "usr/local/bin/"

// stackedImage holds binaries on top of an image that containerd has, as a Dockerfile FROM that image makes it.
func stackedImage(ctx context.Context, base, name string, binaries ...string) (ociImage, error) {
	listed, err := ctr(ctx, "images", "list")
	if err != nil {
		return ociImage{}, err
	}
	digest, found := digestsIn(listed)[base]
	if !found {
		return ociImage{}, fmt.Errorf("containerd has no image %s", base)
	}
	image := ociImage{Name: name}
	var manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	if err := readBlob(ctx, digest, &manifest); err != nil {
		return ociImage{}, err
	}
	var config struct {
		Config imageConfig `json:"config"`
	}
	if err := readBlob(ctx, manifest.Config.Digest, &config); err != nil {
		return ociImage{}, err
	}
	image.Config = config.Config
	for _, l := range manifest.Layers {
		if l.MediaType != typeLayer {
			return ociImage{}, fmt.Errorf("%s was not made here: it has a layer of type %s", base, l.MediaType)
		}
		image.Layers = append(image.Layers, layer{digest: l.Digest, size: l.Size, present: true})
	}
	programs, err := programEntries(firstOnPath, binaries)
	if err != nil {
		return ociImage{}, err
	}
	own, err := entriesLayer(programs)
	image.Layers = append(image.Layers, own)
	return image, err
}

// digestsIn are those of the images in containerd's list, by their names.
func digestsIn(listed string) map[string]string {
	digests := map[string]string{}
	for line := range strings.Lines(listed) {
		if fields := strings.Fields(line); len(fields) > 2 {
			digests[fields[0]] = fields[2]
		}
	}
	return digests
}

// readBlob reads a document of containerd's store.
func readBlob(ctx context.Context, digest string, into any) error {
	text, err := ctr(ctx, "content", "get", digest)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}
