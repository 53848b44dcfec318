// Package tools holds what must be true of all modules below it, of the local cluster's, of the one that makes releases, of the one of
// EtcdCluster's report, and of the one that draws the plots of the benchmark.
package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// exception is what a tool takes in a version of its own: modules below a path, all of them below none.
type exception struct{ tool, path, reason string }

var exceptions = []exception{
	{"codegen", "golang.org/x/", "controller-gen asks for newer ones"},
	{"coredns", "github.com/prometheus/", "CoreDNS asks for newer ones"},
	{"coredns", "github.com/klauspost/", "CoreDNS asks for a newer compress, and with an older cpuid it is built already"},
	{"coredns", "github.com/tinylib/msgp", "CoreDNS asks for a newer one"},
	{"coredns", "go.uber.org/zap", "CoreDNS asks for a newer one"},
	{"coredns", "google.golang.org/", "CoreDNS asks for a newer gRPC"},
	{"crdify", "github.com/klauspost/cpuid/", "nothing that takes minutes stands on it"},
	{"etcd", "", "etcd asks for newer ones, down to golang.org/x, and uses nothing of k8s.io that is large"},
	{"etcd-3.5", "", "as etcd, each release of which is built with what it asks for"},
	{"etcd-3.6", "", "as etcd, each release of which is built with what it asks for"},
	{"exporter", "github.com/prometheus/", "it needs packages that newer ones no longer have"},
	{"golangci-lint", "", "it asks for newer ones, down to golang.org/x, and uses nothing of k8s.io"},
	{"helm", "", "it asks for newer ones, down to golang.org/x, which k8s.io imports"},
	{"vulncheck", "golang.org/x/", "it asks for newer ones"},
	{"versitygw", "", "it asks for newer ones, down to golang.org/x, and uses nothing of k8s.io"},
	{"test/e2e/etcd", "go.etcd.io/etcd/", "etcd's judge is of the release that it judges"},
	{"operator-sdk", "", "with newer k8s.io it writes other bundles: no creationTimestamp"},
}

// Go compiles a package once for all programs whose versions agree, of it and of all that it
// imports. k8s.io alone takes minutes: all tools and tests take the versions that the operator takes.
func TestToolsTakeTheVersionsOfTheOperator(t *testing.T) {
	files, err := filepath.Glob("*/go.mod")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tools: %v", err)
	}
	modules := map[string]string{"hack/cluster": "../cluster/go.mod", "hack/release": "../release/go.mod",
		"test/e2e/etcd": "../../test/e2e/etcd/go.mod", "test/bench/plot": "../../test/bench/plot/go.mod"}
	for _, file := range files {
		modules[filepath.Dir(file)] = file
	}
	used := map[exception]bool{}
	for name, file := range modules {
		for _, fault := range otherVersions(name, read(t, "../../go.mod"), read(t, file), used) {
			t.Errorf("%s: go get that version there, or name the reason in exceptions", fault)
		}
	}
	for _, e := range exceptions {
		if !used[e] {
			t.Errorf("%s takes the operator's versions of %q: remove it from exceptions", e.tool, e.path)
		}
	}
}

func TestAnotherVersionIsFound(t *testing.T) {
	operator := map[string]string{"k8s.io/api": "v0.37.1", "golang.org/x/net": "v0.57.0"}
	for name, c := range map[string]struct {
		tool    string
		modules map[string]string
		faults  int
	}{
		"the same":                  {"olm", map[string]string{"k8s.io/api": "v0.37.1"}, 0},
		"an older one":              {"olm", map[string]string{"k8s.io/api": "v0.36.2"}, 1},
		"a newer one":               {"olm", map[string]string{"golang.org/x/net": "v0.59.0"}, 1},
		"what the operator has not": {"olm", map[string]string{"k8s.io/kubectl": "v0.36.1"}, 0},
		"an exception":              {"codegen", map[string]string{"golang.org/x/net": "v0.59.0"}, 0},
		"another tool's":            {"codegen", map[string]string{"k8s.io/api": "v0.37.0"}, 1},
	} {
		if faults := otherVersions(c.tool, operator, c.modules, map[exception]bool{}); len(faults) != c.faults {
			t.Errorf("%s: %q", name, faults)
		}
	}
}

// otherVersions returns the modules that a tool takes in another version than the operator without
// an exception, and notes the exceptions that it meets.
func otherVersions(tool string, operator, modules map[string]string, used map[exception]bool) []string {
	var faults []string
	for module, version := range modules {
		want, shared := operator[module]
		if !shared || version == want {
			continue
		}
		found := slices.IndexFunc(exceptions, func(e exception) bool { return e.tool == tool && strings.HasPrefix(module, e.path) })
		if found < 0 {
			faults = append(faults, tool+" takes "+module+" "+version+", the operator "+want)
			continue
		}
		used[exceptions[found]] = true
	}
	slices.Sort(faults)
	return faults
}

// read returns the version of each module that a go.mod names.
func read(t *testing.T, path string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.ParseLax(path, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return versions
}
