package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// deriveModule makes the module that another version than the default is built from, once. Its checksums are those of Kubernetes, and
// for Kubernetes itself those that Go has verified.
func deriveModule(ctx context.Context, l layout) error {
	folder := l.kubernetesFolder()
	if folder == "" || firstExisting(l.bin(filepath.Join(folder, "go.mod"))) != "" {
		return nil
	}
	r, ok := findRelease(l.version)
	if !ok {
		return fmt.Errorf("version %s of Kubernetes is none of %s", l.version, releaseNames())
	}
	note("reading the modules of Kubernetes %s", r.version)
	printed, err := output(ctx, "env", "GOWORK=off", "go", "mod", "download", "-json", "k8s.io/kubernetes@"+r.version)
	if err != nil {
		return err
	}
	var upstream struct{ GoMod, Dir string }
	if err := json.Unmarshal([]byte(printed), &upstream); err != nil {
		return fmt.Errorf("go mod download k8s.io/kubernetes@%s: %w", r.version, err)
	}
	module, err := os.ReadFile(upstream.GoMod)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(upstream.Dir, "go.sum"))
	if err != nil {
		return err
	}
	return l.keepModule(ctx, folder, r.module(string(module)), sums)
}

// keepModule writes a module and has Go complete its checksums. It is moved into place as a whole, since two commands may do this at once.
func (l layout) keepModule(ctx context.Context, folder, module string, sums []byte) error {
	if err := os.MkdirAll(l.bin(""), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(l.bin(""), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := errors.Join(os.Chmod(fresh, 0o755),
		os.WriteFile(filepath.Join(fresh, "go.mod"), []byte(module), 0o644),
		os.WriteFile(filepath.Join(fresh, "go.sum"), sums, 0o644)); err != nil {
		return err
	}
	list := []string{"GOWORK=off", "CGO_ENABLED=0", "go", "-C", fresh, "list", "-mod=mod", "-deps"}
	for _, name := range kubernetesPrograms {
		list = append(list, kubernetesPackage(name))
	}
	if _, err := output(ctx, "env", list...); err != nil {
		return err
	}
	if err := os.Rename(fresh, l.bin(folder)); err != nil && firstExisting(l.bin(filepath.Join(folder, "go.mod"))) == "" {
		return err
	}
	return nil
}

const derivedName = "github.com/mainstay-operator/mainstay-operator/hack/tools/kubernetes"

var stagingFolder = regexp.MustCompile(`=> \./staging/src/(\S+)`)

// module returns a go.mod that builds the release outside of its repository: the one in the repository takes the libraries of
// Kubernetes from folders, this one takes the modules that are published from them.
func (r release) module(upstream string) string {
	published := stagingFolder.ReplaceAllStringFunc(upstream, func(folder string) string {
		module := stagingFolder.FindStringSubmatch(folder)[1]
		if version := r.earlier[module]; version != "" {
			return "=> " + module + " " + version
		}
		return "=> " + module + " v0" + strings.TrimPrefix(r.version, "v1")
	})
	return strings.Replace(published, "module k8s.io/kubernetes\n", "module "+derivedName+"\n", 1) +
		"\nrequire k8s.io/kubernetes " + r.version + "\n"
}
