// Command catalog writes the file-based catalog of all releases: those that are
// kept under test/olm, and the one that bundle/ is. Their images are where releases
// are published.
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
	if len(args) != 1 {
		return errors.New("usage: go run ./hack/catalog FILE")
	}
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	bundles, err := olm.Bundles(root)
	if err != nil {
		return err
	}
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
	for _, csv := range csvs {
		content, err := os.ReadFile(filepath.Join(folder, csv.Name+".yaml"))
		if err != nil {
			return err
		}
		image := fmt.Sprintf("image: ghcr.io/mainstay-operator/%s-bundle:v%s\n", olm.Package, csv.Spec.Version)
		catalog.WriteString(strings.Replace(string(content), "image: \"\"\n", image, 1))
	}
	return os.WriteFile(args[0], []byte(catalog.String()), 0o644) //nolint:gosec // for everybody to read
}
