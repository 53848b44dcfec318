package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The annotations by which containerd, and skopeo, name the images of an archive.
const (
	containerdName = "io.containerd.image.name"
	layoutName     = "org.opencontainers.image.ref.name"
)

// archivedImage is an image of an archive, once for each of its names.
type archivedImage struct {
	names []string
	index v1.ImageIndex
}

// blob of an archive.
type blob struct {
	size int64
	open func() (io.ReadCloser, error)
}

func blobOf(content []byte) blob {
	return blob{int64(len(content)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// writeArchive writes an OCI image layout as a tar: the same bytes for the same images.
func writeArchive(path string, images ...archivedImage) error {
	files := map[string]blob{"oci-layout": blobOf([]byte(`{"imageLayoutVersion":"1.0.0"}`))}
	list := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, image := range images {
		if err := addIndex(files, image.index); err != nil {
			return fmt.Errorf("%s: %w", image.names[0], err)
		}
		descriptor, err := partial.Descriptor(image.index)
		if err != nil {
			return err
		}
		for _, name := range image.names {
			described := *descriptor
			described.Annotations = map[string]string{containerdName: name, layoutName: name}
			list.Manifests = append(list.Manifests, described)
		}
	}
	listed, err := json.Marshal(list)
	if err != nil {
		return err
	}
	files["index.json"] = blobOf(listed)
	return writeFile(path, func(w io.Writer) error { return writeTar(w, files) })
}

// writeFile removes what could not be written as a whole.
func writeFile(path string, write func(io.Writer) error) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(write(out), out.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func writeTar(w io.Writer, files map[string]blob) error {
	archive := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: files[name].size, Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		content, err := files[name].open()
		if err != nil {
			return err
		}
		_, err = io.Copy(archive, content)
		if err := errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return archive.Close()
}

// addIndex adds the blobs of an index, and of all that it lists.
func addIndex(files map[string]blob, index v1.ImageIndex) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, listed := range manifest.Manifests {
		if !listed.MediaType.IsImage() {
			return fmt.Errorf("%s lists %s, which is no image", listed.Digest, listed.MediaType)
		}
		image, err := index.Image(listed.Digest)
		if err != nil {
			return err
		}
		if err := addImage(files, image); err != nil {
			return err
		}
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	raw, err := index.RawManifest()
	files[blobPath(digest)] = blobOf(raw)
	return err
}

func addImage(files map[string]blob, image v1.Image) error {
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return err
		}
		size, err := layer.Size()
		if err != nil {
			return err
		}
		files[blobPath(digest)] = blob{size, layer.Compressed}
	}
	config, err := image.ConfigName()
	if err != nil {
		return err
	}
	content, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	files[blobPath(config)] = blobOf(content)
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	raw, err := image.RawManifest()
	files[blobPath(digest)] = blobOf(raw)
	return err
}

func blobPath(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// layoutFile is a file of an OCI image layout.
var layoutFile = regexp.MustCompile(`^(blobs/sha256/[0-9a-f]{64}|index\.json|oci-layout)$`)

// readArchive unpacks an archive into a folder, which must exist, and returns its images by their names.
func readArchive(path, folder string) (map[string]v1.ImageIndex, error) {
	if err := unpack(path, folder); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	list, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	manifest, err := list.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	images := map[string]v1.ImageIndex{}
	for _, listed := range manifest.Manifests {
		name := listed.Annotations[containerdName]
		if name == "" {
			return nil, fmt.Errorf("%s: %s has no annotation %s", path, listed.Digest, containerdName)
		}
		if images[name], err = list.ImageIndex(listed.Digest); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, name, err)
		}
	}
	return images, nil
}

func unpack(path, folder string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	for archive := tar.NewReader(in); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !layoutFile.MatchString(header.Name) {
			return fmt.Errorf("%q is no file of an OCI image layout", header.Name)
		}
		to := filepath.Join(folder, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := writeFile(to, func(w io.Writer) error { _, err := io.Copy(w, archive); return err }); err != nil {
			return err
		}
	}
}
