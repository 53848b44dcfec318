package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/scratch"
)

// material is what a release is made of.
type material struct {
	binaries map[string][]file // of the operator's image, by architecture
	// manifests install the operator, whose image they name without a digest.
	manifests string
	bundle    scratch.Image
	chart     []scratch.File // of Helm
	// catalog makes the content of a catalog whose newest bundle is this one, in the image of this name.
	catalog func(bundle []scratch.File, image string) (string, error)
	// operands are named by their digests where these are known.
	operands operandList
	// fetch returns the images that the archive for clusters without a network has in addition.
	fetch func(images []string) ([]archivedImage, error)
}

// releaseImage is an image of the release.
type releaseImage struct {
	file  string // name of its files, without version
	name  string // with registry and tag
	index v1.ImageIndex
}

// pinned is the name with tag and digest: people see the version, and the digest counts.
func (r releaseImage) pinned() (string, error) {
	digest, err := r.index.Digest()
	return r.name + "@" + digest.String(), err
}

// byDigest is the name without tag.
func (r releaseImage) byDigest() (string, error) {
	pinned, err := r.pinned()
	return forCopies(pinned), err
}

// assemble writes a release, without its sums, into an empty folder.
func assemble(folder string, a about, from material) error {
	operator, err := operatorImage(a, from.binaries)
	if err != nil {
		return err
	}
	images := []releaseImage{{"mainstay-operator", a.operator(), operator}}
	pinned, err := images[0].pinned()
	if err != nil {
		return err
	}
	manifests, err := pinManifests(a, from, pinned)
	if err != nil {
		return fmt.Errorf("the manifests: %w", err)
	}
	if err := writeChart(folder, a, from, operator); err != nil {
		return err
	}
	bundled, err := bundleImage(a, from, pinned)
	if err != nil {
		return err
	}
	bundle := releaseImage{"mainstay-operator-bundle", a.named("bundle"), bundled.index}
	catalog, catalogued, err := catalogImage(a, from, bundle, bundled.files)
	if err != nil {
		return err
	}
	images = append(images, bundle, releaseImage{"mainstay-operator-catalog", a.named("catalog"), catalogued})
	if err := writeManifests(folder, manifests, catalog); err != nil {
		return err
	}
	if err := writeImages(folder, a, images); err != nil {
		return err
	}
	return writeOffline(folder, a, images, manifests, from.fetch)
}

// pinManifests returns the manifests with each image by its digest, where that is known.
func pinManifests(a about, from material, operator string) (string, error) {
	named, err := operands(from.manifests)
	if err != nil {
		return "", err
	}
	if err := from.operands.covers(named); err != nil {
		return "", err
	}
	manifests, err := pin(from.manifests, a.operator(), operator)
	return from.operands.pin(manifests), err
}

// writeChart writes what Helm installs.
func writeChart(folder string, a about, from material, operator v1.ImageIndex) error {
	digest, err := operator.Digest()
	if err != nil {
		return err
	}
	packed, err := packChart(a, from, digest)
	if err != nil {
		return fmt.Errorf("the Helm chart: %w", err)
	}
	return os.WriteFile(filepath.Join(folder, chartFolder+"-"+a.version+".tgz"), packed, 0o644)
}

// writeManifests writes what kubectl applies, and the catalog.
func writeManifests(folder, manifests, catalog string) error {
	crds, operator, err := splitCRDs(manifests)
	if err != nil {
		return err
	}
	for name, content := range map[string]string{"install.yaml": manifests, "crds.yaml": crds, "operator.yaml": operator,
		"catalog.yaml": catalog} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeImages writes an archive and an SBOM of each image.
func writeImages(folder string, a about, images []releaseImage) error {
	for _, image := range images {
		base := filepath.Join(folder, image.file+"-v"+a.version)
		if err := writeArchive(base+".tar", archivedImage{[]string{image.name}, image.index}); err != nil {
			return err
		}
		document, err := sbom(a, image)
		if err != nil {
			return fmt.Errorf("the SBOM of %s: %w", image.name, err)
		}
		if err := os.WriteFile(base+".spdx.json", document, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// forCopies is an image's name as tools that copy images need it: not with both tag and digest.
func forCopies(image string) string {
	tagged, digest, pinned := strings.Cut(image, "@")
	if !pinned {
		return tagged
	}
	return repository(tagged) + "@" + digest
}

// writeOffline writes the list of all images, and an archive for clusters without a network. An image of the release has two
// names there, since a container runtime looks it up by its digest when a manifest has one, and by its tag otherwise.
func writeOffline(folder string, a about, images []releaseImage, manifests string, fetch func([]string) ([]archivedImage, error)) error {
	var list []string
	var all []archivedImage
	for _, image := range images {
		byDigest, err := image.byDigest()
		if err != nil {
			return err
		}
		list = append(list, byDigest)
		all = append(all, archivedImage{[]string{image.name, byDigest}, image.index})
	}
	others, err := operands(manifests)
	if err != nil {
		return err
	}
	for _, other := range others {
		list = append(list, forCopies(other))
	}
	fetched, err := fetch(others)
	if err != nil {
		return err
	}
	if err := writeArchive(filepath.Join(folder, "mainstay-operator-offline-v"+a.version+".tar"), append(all, fetched...)...); err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, "images.txt"), func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(list, "\n")+"\n")
		return err
	})
}
