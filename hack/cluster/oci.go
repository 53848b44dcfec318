package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
)

// ociImage is an image to be written into an archive.
type ociImage struct {
	Name   string
	Config imageConfig
	Layers []layer
}

// imageConfig is what an image says about the containers made from it.
type imageConfig struct {
	User         string              `json:",omitempty"`
	ExposedPorts map[string]struct{} `json:",omitempty"`
	Env          []string            `json:",omitempty"`
	Entrypoint   []string            `json:",omitempty"`
	Cmd          []string            `json:",omitempty"`
	Volumes      map[string]struct{} `json:",omitempty"`
	Labels       map[string]string   `json:",omitempty"`
	WorkingDir   string              `json:",omitempty"`
	StopSignal   string              `json:",omitempty"`
}

// layer is an uncompressed tar, in a file when it is large.
type layer struct {
	file    string
	content []byte
	present bool // in containerd already: an archive leaves it out
	digest  string
	size    int64
}

func layerOf(content []byte) layer {
	return layer{content: content, digest: digestOf(content), size: int64(len(content))}
}

func layerFile(path string) (layer, error) {
	file, err := os.Open(path)
	if err != nil {
		return layer{}, err
	}
	defer closeQuietly(file)
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	return layer{file: path, digest: "sha256:" + hex.EncodeToString(sum.Sum(nil)), size: size}, err
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// descriptor refers to a blob of an archive.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// writeArchive writes an OCI image layout as a tar: the same bytes for the
// same images. Layers that images share are written once.
func writeArchive(w io.Writer, images []ociImage) error {
	archive := &blobWriter{tar: tar.NewWriter(w), written: map[string]bool{}}
	var manifests []descriptor
	for _, image := range images {
		manifest, config := image.documents()
		for _, l := range append(image.Layers, layerOf(config), layerOf(manifest)) {
			if err := archive.blob(l); err != nil {
				return err
			}
		}
		manifests = append(manifests, descriptor{
			MediaType: typeManifest, Digest: digestOf(manifest), Size: int64(len(manifest)),
			Annotations: map[string]string{"io.containerd.image.name": image.Name},
		})
	}
	index := encode(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests})
	if err := archive.file("index.json", layerOf(index)); err != nil {
		return err
	}
	if err := archive.file("oci-layout", layerOf([]byte(`{"imageLayoutVersion":"1.0.0"}`))); err != nil {
		return err
	}
	return archive.tar.Close()
}

// digest is what containerd lists the image with.
func (o ociImage) digest() string {
	manifest, _ := o.documents()
	return digestOf(manifest)
}

// documents are the image's manifest and config. Without architecture and os
// containerd silently leaves an image out of an import.
func (o ociImage) documents() (manifest, config []byte) {
	var ids []string
	var layers []descriptor
	for _, l := range o.Layers {
		ids = append(ids, l.digest) // not compressed: the blob is the content
		layers = append(layers, descriptor{MediaType: typeLayer, Digest: l.digest, Size: l.size})
	}
	config = encode(map[string]any{
		"created":      "1970-01-01T00:00:00Z",
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       o.Config,
		"rootfs":       map[string]any{"type": "layers", "diff_ids": ids},
	})
	manifest = encode(map[string]any{
		"schemaVersion": 2,
		"mediaType":     typeManifest,
		"config":        descriptor{MediaType: typeConfig, Digest: digestOf(config), Size: int64(len(config))},
		"layers":        layers,
	})
	return manifest, config
}

// encode sorts the keys of maps, so that the same value gives the same bytes.
func encode(value any) []byte {
	content, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("maps, slices and strings always encode: %v", err))
	}
	return content
}

// blobWriter adds blobs to an archive, each one once.
type blobWriter struct {
	tar     *tar.Writer
	written map[string]bool
}

func (b *blobWriter) blob(l layer) error {
	if l.present || b.written[l.digest] {
		return nil
	}
	b.written[l.digest] = true
	return b.file("blobs/sha256/"+l.digest[len("sha256:"):], l)
}

func (b *blobWriter) file(name string, l layer) error {
	if err := b.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: l.size, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	var content io.Reader = bytes.NewReader(l.content)
	if l.file != "" {
		file, err := os.Open(l.file)
		if err != nil {
			return err
		}
		defer closeQuietly(file)
		content = file
	}
	_, err := io.Copy(b.tar, content)
	return err
}
