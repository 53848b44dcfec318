// Command catalog writes the file-based catalog of all published releases: those that are
// kept under test/olm, whose images are where releases are published, and the newest,
// with the folder of its bundle and the name of that bundle's image.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: go run ./hack/catalog BUNDLE IMAGE FILE")
	}
	newest, image, file := args[0], args[1], args[2]
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	bundles, err := olm.Bundles(root)
	if err != nil {
		return err
	}
	if bundles, err = olm.Published(bundles[:len(bundles)-1]...); err != nil {
		return err
	}
	bundles = append(bundles, newest)
	csvs, err := olm.CSVs(bundles...)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "catalog")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := olm.Catalog(folder, bundles...); err != nil {
		return err
	}
	var catalog strings.Builder
	for _, name := range []string{"package", "channel"} {
		content, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
		if err != nil {
			return err
		}
		catalog.WriteString("---\n" + string(content))
	}
	for i, csv := range csvs {
		content, err := os.ReadFile(filepath.Join(folder, csv.Name+".yaml"))
		if err != nil {
			return err
		}
		published := fmt.Sprintf("ghcr.io/mainstay-operator/%s-bundle:v%s", olm.Package, csv.Spec.Version)
		if i == len(csvs)-1 {
			published = image
		}
		catalog.WriteString(strings.Replace(string(content), "image: \"\"\n", "image: "+published+"\n", 1))
	}
	return os.WriteFile(file, []byte(catalog.String()), 0o644) //nolint:gosec // for everybody to read
}
