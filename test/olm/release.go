package olm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// Release is a bundle, and where its manager comes from.
type Release struct {
	// Bundle is its folder.
	Bundle string
	// Name of its ClusterServiceVersion.
	Name string
	// Replaces is the name of the one before; none for the first.
	Replaces string
	// Image of its manager.
	Image string
	// commit of its source; none for the working tree.
	commit string
}

// ReleaseOf reads a bundle.
func ReleaseOf(bundle string) (Release, error) {
	csvs, err := CSVs(bundle)
	if err != nil {
		return Release{}, err
	}
	return Release{Bundle: bundle, Name: csvs[0].Name, Replaces: csvs[0].Spec.Replaces, Image: csvs[0].Annotations["containerImage"]}, nil
}

// Current is the release that the tree below root is to become.
func Current(root string) (Release, error) { return ReleaseOf(filepath.Join(root, "bundle")) }

// Previous is the release that it replaces, as it is kept.
func Previous(root string) (Release, error) {
	folder, err := releases.Last(root)
	if err != nil {
		return Release{}, err
	}
	return keptIn(folder)
}

// Oldest is the first release that is kept.
func Oldest(root string) (Release, error) {
	folders, err := releases.Kept(root)
	if err != nil {
		return Release{}, err
	}
	if len(folders) == 0 {
		return Release{}, errors.New("no release is kept: make cut keeps one")
	}
	return keptIn(folders[0])
}

// keptIn reads a release that is kept.
func keptIn(folder string) (Release, error) {
	release, err := ReleaseOf(filepath.Join(folder, "bundle"))
	if err != nil {
		return Release{}, err
	}
	commit, err := os.ReadFile(filepath.Join(folder, "commit"))
	release.commit = strings.TrimSpace(string(commit))
	return release, err
}

// Bundles are the folders of all releases' bundles, the oldest first and that of the
// tree below root last: what an unbroken chain in a catalog takes. The tree takes the
// place of what is kept of the same version.
func Bundles(root string) ([]string, error) {
	folders, err := releases.Kept(root)
	if err != nil {
		return nil, err
	}
	current, err := Current(root)
	if err != nil {
		return nil, err
	}
	var bundles []string
	for _, folder := range folders {
		bundle := filepath.Join(folder, "bundle")
		release, err := ReleaseOf(bundle)
		if err != nil {
			return nil, err
		}
		if release.Name != current.Name {
			bundles = append(bundles, bundle)
		}
	}
	return append(bundles, current.Bundle), nil
}

// Version of the release, without v.
func (r Release) Version() string { return strings.TrimPrefix(r.Name, Package+".v") }

// Source is the folder of the source that Build builds from into a folder.
func (r Release) Source(root, folder string) string {
	if r.commit == "" {
		return root
	}
	return filepath.Join(folder, "source")
}

// Build the release's manager from its source, into a folder. It unpacks the source of a release that is kept there.
func (r Release) Build(ctx context.Context, root, folder string) (manager string, err error) {
	source := r.Source(root, folder)
	if r.commit != "" {
		if err := r.unpack(ctx, root, source); err != nil {
			return "", err
		}
	}
	for _, program := range Programs {
		if !exists(filepath.Join(source, program.Source)) {
			continue // a release before it
		}
		if err := run(ctx, source, "env", program.EnvArgs(folder)...); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, "manager"), nil
}

// unpack the release's source into a folder.
func (r Release) unpack(ctx context.Context, root, folder string) error {
	if err := run(ctx, root, "git", "cat-file", "-e", r.commit+"^{commit}"); err != nil {
		return fmt.Errorf("the source of %s is not in this clone; where it is a shallow one, git fetch --unshallow: %w", r.Name, err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	archive := folder + ".tar"
	if err := run(ctx, root, "git", "archive", "--output", archive, r.commit); err != nil {
		return err
	}
	return run(ctx, root, "tar", "-x", "-f", archive, "-C", folder)
}

// Program of the operator's image.
type Program struct{ Name, Source string }

// Programs of the operator's image, the first of them the one that is started. The
// Dockerfile builds the same, and a release what the Dockerfile builds.
var Programs = []Program{
	{"manager", "."}, {"guard", "controllers/activity/guard"}, {"etcd-launcher", "controllers/etcd/launcher"},
	{"backup-runner", "controllers/backup/runner"},
}

// EnvArgs are what env(1) builds it with from the source, into a folder. Without the
// commit in it, the same source makes the same binary.
func (p Program) EnvArgs(folder string) []string {
	return []string{"CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
		"-o", filepath.Join(folder, p.Name), "./" + p.Source}
}

// Load a manager into the local cluster, as the release's image, with what was built next to it.
func (r Release) Load(ctx context.Context, root, manager string) error {
	words := []string{"run", "-C", "hack/cluster", ".", "image", "--name", r.Image, "--binary", manager}
	for _, program := range Programs[1:] {
		if path := filepath.Join(filepath.Dir(manager), program.Name); exists(path) {
			words = append(words, "--binary", path)
		}
	}
	return run(ctx, root, "go", words...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func run(ctx context.Context, folder, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = folder
	said, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(said))
	}
	return nil
}
