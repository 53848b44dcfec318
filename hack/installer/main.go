// Command installer writes the roles of the ServiceAccount by which OLM v1 installs a bundle.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "installer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: go run ./hack/installer BUNDLE FILE")
	}
	roles, err := olm.InstallerRoles(args[0])
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], []byte(roles), 0o644) //nolint:gosec // for everybody to read
}
