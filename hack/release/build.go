package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/scratch"
)

func runBuild(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	into := flags.String("output", "", "folder to write; what is in it is deleted")
	image := flags.String("image", "", "name of the operator's image, with registry and tag; bundle and catalog are next to it")
	version := flags.String("version", "", "version, without v")
	revision := flags.String("revision", "", "commit that it is built from")
	epoch := flags.Int64("epoch", 0, "date of that commit, in seconds since 1970")
	registry := flags.String("operands", "", "registry to copy the operands from into the offline archive, or "+origin)
	if err := flags.Parse(args); err != nil {
		return err
	}
	a, err := newAbout(*image, *version, *revision, *epoch)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(*into) {
		return fmt.Errorf("--output is %q: it must be an absolute path", *into)
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	from, err := materialOf(ctx, root)
	if err != nil {
		return err
	}
	from.fetch = func(images []string) ([]archivedImage, error) { return fetchOperands(ctx, *registry, images) }
	if err := errors.Join(os.RemoveAll(*into), os.MkdirAll(*into, 0o755)); err != nil {
		return err
	}
	return assemble(*into, a, from)
}

// findRoot returns the top of the checkout, seen from this module's folder.
func findRoot() (string, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(root, "bundle.Dockerfile")); err != nil {
		return "", fmt.Errorf("the working folder must be hack/release, as with go run -C hack/release: %w", err)
	}
	return root, nil
}

// materialOf builds what the checkout makes a release of.
func materialOf(ctx context.Context, root string) (material, error) {
	binaries, err := buildPrograms(ctx, root)
	if err != nil {
		return material{}, err
	}
	manifests, err := output(ctx, root, nil, "kustomize", "build", "config/default")
	if err != nil {
		return material{}, err
	}
	chart, err := scratch.Copy(filepath.Join(root, "config/helm"), chartFolder)
	if err != nil {
		return material{}, err
	}
	defaults, err := readOperands(filepath.Join(root, operandsFile))
	if err != nil {
		return material{}, err
	}
	bundle, err := scratch.Read(filepath.Join(root, "bundle.Dockerfile"), root)
	return material{binaries: binaries, manifests: manifests, chart: chart, bundle: bundle, operands: defaults,
		catalog: func(bundle []scratch.File, image string) (string, error) {
			return renderCatalog(ctx, root, bundle, image)
		}}, err
}

// buildPrograms cross-compiles the programs of the operator's image.
func buildPrograms(ctx context.Context, root string) (map[string][]file, error) {
	dockerfile, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	programs, err := programsOf(string(dockerfile))
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "programs-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binaries := map[string][]file{}
	for _, architecture := range architectures {
		env := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + architecture, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="}
		for _, p := range programs {
			binary := filepath.Join(folder, p.name)
			// Without the commit in it, the same source makes the same binary.
			if _, err := output(ctx, root, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
				"-o", binary, p.source); err != nil {
				return nil, err
			}
			content, err := os.ReadFile(binary)
			if err != nil {
				return nil, err
			}
			binaries[architecture] = append(binaries[architecture], file{p.name, 0o755, content})
		}
	}
	return binaries, nil
}

// renderCatalog has hack/catalog write the catalog of all releases, of which this bundle is the newest.
func renderCatalog(ctx context.Context, root string, bundle []scratch.File, image string) (string, error) {
	folder, err := os.MkdirTemp("", "bundle-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, f := range bundle {
		to := filepath.Join(folder, filepath.FromSlash(f.Name))
		if f.IsFolder() {
			err = os.MkdirAll(to, 0o755)
		} else {
			err = os.WriteFile(to, f.Content, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	catalog := filepath.Join(folder, "catalog.yaml")
	if _, err := output(ctx, root, nil, "go", "run", "./hack/catalog", folder, image, catalog); err != nil {
		return "", err
	}
	content, err := os.ReadFile(catalog)
	return string(content), err
}

// output runs a program in a folder and returns what it prints. If it fails, the error has its own words.
func output(ctx context.Context, folder string, env []string, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Env = folder, append(os.Environ(), env...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, bytes.TrimSpace(complaints.Bytes()))
	}
	return string(printed), nil
}
