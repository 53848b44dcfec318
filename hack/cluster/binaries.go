package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ownModule is this program's, which needs the standard library only and has no go.sum.
const ownModule = "hack/cluster"

// binary is something that is built from a module into .bin.
type binary struct {
	name   string // path below .bin
	module string // folder below the root that holds the go.mod
	pkg    string
	flags  string
}

var (
	etcd    = etcdBinaries("")
	coredns = []binary{{name: "coredns", module: "hack/tools/coredns", pkg: "github.com/coredns/coredns", flags: "-s -w"}}
	pause   = []binary{{name: "pause", module: ownModule, pkg: "./pause", flags: "-s -w"}}
)

// etcdPrograms are what the project of etcd publishes, and their packages.
var etcdPrograms = []struct{ name, pkg string }{
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"etcdctl", "go.etcd.io/etcd/etcdctl/v3"},
	{"etcdutl", "go.etcd.io/etcd/etcdutl/v3"},
}

// etcdBinaries are these programs, built from the module with that suffix and named with it.
func etcdBinaries(suffix string) []binary {
	group := make([]binary, 0, len(etcdPrograms))
	for _, program := range etcdPrograms {
		group = append(group, binary{name: program.name + suffix, module: "hack/tools/etcd" + suffix, pkg: program.pkg, flags: "-s -w"})
	}
	return group
}

// buildAll builds everything that the cluster runs.
func buildAll(ctx context.Context, l layout) error {
	if err := deriveModule(ctx, l); err != nil {
		return err
	}
	for _, group := range [][]binary{etcd, l.kubernetes(), coredns, pause} {
		if err := build(ctx, l, group); err != nil {
			return err
		}
	}
	return nil
}

// assets builds what an envtest needs of the version that KUBERNETES names, and etcdutl for tests of restores. It asks for no
// privileges.
func assets(ctx context.Context, l layout, _ []string) error {
	var err error
	if l.version, err = chosenVersion(os.Getenv("KUBERNETES"), ""); err != nil {
		return err
	}
	if err := deriveModule(ctx, l); err != nil {
		return err
	}
	for _, group := range [][]binary{{etcd[0], etcd[2]}, l.kubernetes()[:2]} {
		if err := build(ctx, l, group); err != nil {
			return err
		}
	}
	if l.kubernetesFolder() != "" { // an envtest looks for all programs in one folder
		if err := linkTo(filepath.Join("..", etcd[0].name), l.kubernetesBin(etcd[0].name)); err != nil {
			return err
		}
	}
	fmt.Println(l.kubernetesBin(""))
	return nil
}

// build rebuilds those binaries of a group that are missing or older than
// their module. A group shares one module and one set of flags, so that one
// run of the compiler makes them all.
func build(ctx context.Context, l layout, group []binary) error {
	want, err := fingerprint(l, group[0])
	if err != nil {
		return err
	}
	var stale []binary
	for _, b := range group {
		if have, err := os.ReadFile(fingerprintFile(l, b)); err != nil || string(have) != want || firstExisting(l.bin(b.name)) == "" {
			stale = append(stale, b)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	if err := compile(ctx, l, stale); err != nil {
		return err
	}
	for _, b := range stale {
		if err := os.WriteFile(fingerprintFile(l, b), []byte(want), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func compile(ctx context.Context, l layout, group []binary) error {
	names := make([]string, 0, len(group))
	packages := make([]string, 0, len(group))
	for _, b := range group {
		names, packages = append(names, b.name), append(packages, b.pkg)
	}
	note("building %s (minutes when it is the first time)", strings.Join(names, " "))
	// Built under another name and then moved: a binary that runs cannot be written to.
	if err := os.MkdirAll(l.bin(""), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(l.bin(""), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	args := append([]string{"build", "-trimpath", "-ldflags", group[0].flags, "-o", fresh + "/"}, packages...)
	if err := show(ctx, filepath.Join(l.Root, group[0].module), []string{"CGO_ENABLED=0", "GOWORK=off"}, "go", args...); err != nil {
		return err
	}
	for _, b := range group {
		if err := os.Rename(filepath.Join(fresh, builtName(b.pkg)), l.bin(b.name)); err != nil {
			return err
		}
	}
	return nil
}

// builtName is the name go build gives the binary of a package: the last
// element of its path that is not a major version.
func builtName(pkg string) string {
	if base := filepath.Base(pkg); !strings.HasPrefix(base, "v") || strings.Trim(base[1:], "0123456789") != "" {
		return base
	}
	return filepath.Base(filepath.Dir(pkg))
}

// fingerprint changes when a binary of the module has to be rebuilt.
func fingerprint(l layout, b binary) (string, error) {
	sum := sha256.New()
	sum.Write([]byte(b.flags))
	files := []string{"go.mod", "go.sum"}
	if b.module == ownModule {
		files = nil
	}
	if strings.HasPrefix(b.pkg, "./") { // our own code
		files = append(files, filepath.Join(b.pkg, "main.go"))
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(l.Root, b.module, file))
		if err != nil {
			return "", err
		}
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func fingerprintFile(l layout, b binary) string {
	dir, name := filepath.Split(l.bin(b.name))
	return filepath.Join(dir, "."+name+".stamp")
}
