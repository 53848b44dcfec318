package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/scratch"
)

// pinnedBundle is the image of a bundle and what it has, with the operator's image by digest.
type pinnedBundle struct {
	files []scratch.File
	index v1.ImageIndex
}

// bundleImage has the bundle as it is released: see releasedCSV.
func bundleImage(a about, from material, operator string) (pinnedBundle, error) {
	described := from.bundle
	files := slices.Clone(described.Files)
	i := slices.IndexFunc(files, func(f scratch.File) bool { return strings.HasSuffix(f.Name, csvSuffix) })
	if i < 0 {
		return pinnedBundle{}, fmt.Errorf("the bundle has no file *%s: make bundle writes it", csvSuffix)
	}
	csv, err := releasedCSV(a, string(files[i].Content), operator, from.operands)
	if err != nil {
		return pinnedBundle{}, fmt.Errorf("the bundle's %s: %w", files[i].Name, err)
	}
	files[i].Content = []byte(csv)
	layer, err := layerOf(filesOf(files))
	if err != nil {
		return pinnedBundle{}, err
	}
	index, err := indexOf(a, recipe{title: "Bundle of the Mainstay Operator", description: "What Operator Lifecycle Manager installs",
		config: v1.Config{Labels: described.Labels}, layers: everywhere(layer)})
	return pinnedBundle{files, index}, err
}

// csvSuffix ends the name of the file that has the ClusterServiceVersion of a bundle.
const csvSuffix = ".clusterserviceversion.yaml"

// createdAt matches the date of a bundle, which make bundle writes.
var createdAt = regexp.MustCompile(`(?m)^( +createdAt: ).*$`)

// releasedCSV has the date of the commit, not that of the last `make bundle`, so that the same commit gives the same bytes. It names the
// operator's image, and the operands whose digests are known, by digest.
func releasedCSV(a about, csv, operator string, operands operandList) (string, error) {
	csv, err := pin(csv, a.operator(), operator)
	if err != nil {
		return "", fmt.Errorf("%w: make bundle writes it", err)
	}
	if found := createdAt.FindAllString(csv, -1); len(found) != 1 {
		return "", fmt.Errorf("it must have one line createdAt, and has %q: make bundle writes it", found)
	}
	csv = createdAt.ReplaceAllString(csv, `${1}"`+a.created.Format(time.RFC3339)+`"`)
	return claimDisconnected(operands.pin(csv), operands), nil
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
