package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/scratch"
)

// file of an image; the name of a folder ends with "/".
type file struct {
	name    string
	mode    int64
	content []byte
}

// layerOf makes a layer of files.
func layerOf(files []file) (v1.Layer, error) {
	packed, err := pack(files)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(opener(packed), tarball.WithMediaType(types.OCILayer))
}

// opener opens content that is in memory, any number of times.
func opener(content []byte) tarball.Opener {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
}

// pack packs files in their order, compressed. They are root's, and neither the tar nor its compression says when.
func pack(files []file) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0)}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return packed.Bytes(), err
}

// filesOf are the files that a Dockerfile copies.
func filesOf(described []scratch.File) []file {
	files := make([]file, 0, len(described))
	for _, f := range described {
		files = append(files, file{f.Name, f.Mode(), f.Content})
	}
	return files
}

// filesIn returns the regular files of a layer.
func filesIn(layer v1.Layer) ([]file, error) {
	content, err := layer.Uncompressed()
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	var files []file
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		read, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		files = append(files, file{header.Name, header.Mode, read})
	}
}

// filesOfImage are the regular files of all layers.
func filesOfImage(image v1.Image) ([]file, error) {
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	var files []file
	for _, layer := range layers {
		found, err := filesIn(layer)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// filesOfIndex are the regular files of the images for all architectures.
func filesOfIndex(index v1.ImageIndex) ([]file, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var files []file
	for _, listed := range manifest.Manifests {
		image, err := index.Image(listed.Digest)
		if err != nil {
			return nil, err
		}
		found, err := filesOfImage(image)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}
