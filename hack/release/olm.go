package main

import (
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/scratch"
)

// pinnedBundle is the image of a bundle and what it has, with the operator's image by digest.
type pinnedBundle struct {
	files []scratch.File
	index v1.ImageIndex
}

// bundleImage names the operator's image by digest wherever the ClusterServiceVersion names it.
func bundleImage(a about, described scratch.Image, operator string) (pinnedBundle, error) {
	files, named := make([]scratch.File, 0, len(described.Files)), 0
	for _, f := range described.Files {
		if text, err := pin(string(f.Content), a.operator(), operator); err == nil {
			f.Content = []byte(text)
			named++
		}
		files = append(files, f)
	}
	if named == 0 {
		return pinnedBundle{}, fmt.Errorf("the bundle does not name %s: make bundle writes it", a.operator())
	}
	layer, err := layerOf(filesOf(files))
	if err != nil {
		return pinnedBundle{}, err
	}
	index, err := indexOf(a, recipe{title: "Bundle of the Mainstay Operator", description: "What Operator Lifecycle Manager installs",
		config: v1.Config{Labels: described.Labels}, layers: everywhere(layer)})
	return pinnedBundle{files, index}, err
}

// catalogFolder is where catalogs have their content.
const catalogFolder = "configs"

// catalogImage has the content of a catalog, without a program to serve it: OLM v1 reads the content, and so does OLM v0 with
// extractContent.
func catalogImage(a about, from material, bundle releaseImage, files []scratch.File) (string, v1.ImageIndex, error) {
	pinned, err := bundle.pinned()
	if err != nil {
		return "", nil, err
	}
	catalog, err := from.catalog(files, pinned)
	if err != nil {
		return "", nil, fmt.Errorf("the catalog: %w", err)
	}
	if !strings.Contains(catalog, "image: "+pinned+"\n") {
		return "", nil, fmt.Errorf("the catalog does not name the bundle %s", pinned)
	}
	layer, err := layerOf([]file{
		{catalogFolder + "/", 0o755, nil}, {catalogFolder + "/mainstay-operator/", 0o755, nil},
		{catalogFolder + "/mainstay-operator/catalog.yaml", 0o644, []byte(catalog)},
		{"tmp/", 0o1777, nil},
	})
	if err != nil {
		return "", nil, err
	}
	index, err := indexOf(a, recipe{title: "Catalog of the Mainstay Operator", description: "All releases, for Operator Lifecycle Manager",
		config: v1.Config{User: "65532:65532", Labels: map[string]string{"operators.operatorframework.io.index.configs.v1": "/" + catalogFolder}},
		layers: everywhere(layer)})
	return catalog, index, err
}
