package olm

import (
	"fmt"
	"os"
	"path/filepath"
)

// Repositories of community operators, to which a release is submitted. config/community has a folder of each, with what it wants next
// to the bundle.
var Repositories = []string{"community-operators-prod", "community-operators"}

// Submit writes what is submitted of a bundle to each of Repositories into a folder, each in a folder of its name, as it is in that
// repository: operators/mainstay-operator, with the bundle in a folder of its version. root is the project's.
func Submit(root, bundle, folder string) error {
	csvs, err := CSVs(bundle)
	if err != nil {
		return err
	}
	for _, repository := range Repositories {
		operator := filepath.Join(folder, repository, "operators", Package)
		version := filepath.Join(operator, csvs[0].Spec.Version.String())
		if err := os.RemoveAll(filepath.Join(folder, repository)); err != nil {
			return err
		}
		if err := os.CopyFS(operator, os.DirFS(filepath.Join(root, "config", "community", repository))); err != nil {
			return fmt.Errorf("what %s wants: %w", repository, err)
		}
		if err := os.CopyFS(version, os.DirFS(bundle)); err != nil {
			return err
		}
		config := filepath.Join(operator, releaseConfig)
		if !exists(config) {
			continue
		}
		if err := os.Rename(config, filepath.Join(version, releaseConfig)); err != nil {
			return err
		}
	}
	return nil
}
