// Command submission writes what is submitted of a bundle to the repositories of community operators.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "submission:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: go run ./hack/submission BUNDLE FOLDER")
	}
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	return olm.Submit(root, args[0], args[1])
}
