package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhichVersionIsRun(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, recorded, version string
		fault                     string // what the error says
	}{
		"a new cluster has the default":                     {"", "", defaultVersion, ""},
		"a new cluster has the wanted one":                  {"v1.31.14", "", "v1.31.14", ""},
		"a minor version is enough":                         {"1.33", "", "v1.33.13", ""},
		"the v may be left out":                             {"1.35.4", "", "v1.35.4", ""},
		"a cluster keeps its version":                       {"", "v1.31.14", "v1.31.14", ""},
		"its own version may be named":                      {"1.31", "v1.31.14", "v1.31.14", ""},
		"an older API server must not read newer data":      {"v1.31.14", defaultVersion, "", "make cluster-down"},
		"a version that is not listed names those that are": {"v1.30.1", "", "", "v1.31.14, v1.33.13, v1.35.4, " + defaultVersion},
		"1.3 is not 1.31":                                   {"1.3", "", "", "KUBERNETES"},
		"a cluster of another checkout's version":           {"", "v1.36.0", "", "make cluster-down"},
	} {
		version, err := chosenVersion(c.wanted, c.recorded)
		if version != c.version || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %q, %v", name, version, err)
		}
	}
}

func TestTheDefaultIsWhatTheModuleHas(t *testing.T) {
	module, err := os.ReadFile(filepath.Join("..", "tools", "kubernetes", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(module), "\tk8s.io/kubernetes "+defaultVersion+" ") {
		t.Errorf("hack/tools/kubernetes/go.mod does not have k8s.io/kubernetes %s", defaultVersion)
	}
}

func TestTheVersionIsRecordedWithTheData(t *testing.T) {
	l := layout{Root: t.TempDir()}
	if version := l.recordedVersion(); version != "" {
		t.Errorf("without a cluster there is a version %s", version)
	}
	if err := os.MkdirAll(l.state("etcd", "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	if version := l.recordedVersion(); version != defaultVersion {
		t.Errorf("data without a record are of version %q", version)
	}
	for _, version := range []string{"v1.31.14", "v1.33.13"} {
		l.version = version
		if err := l.recordVersion(); err != nil {
			t.Fatal(err)
		}
		if recorded := (layout{Root: l.Root}).recordedVersion(); recorded != version {
			t.Errorf("%s is recorded as %q", version, recorded)
		}
		if programs, err := os.Readlink(l.state("bin")); err != nil || programs != l.bin("kubernetes-"+version) {
			t.Errorf("the programs of %s are in %q: %v", version, programs, err)
		}
	}
}

// Each version has its own folder, so that a change of the version builds nothing again, and the default has the one of the other tools.
func TestVersionsAreBuiltSideBySide(t *testing.T) {
	files := map[string]bool{}
	for _, r := range releases {
		l := layout{Root: "/root", version: r.version}
		for _, b := range l.kubernetes() {
			for _, file := range []string{l.bin(b.name), fingerprintFile(l, b)} {
				if files[file] {
					t.Errorf("%s is of two versions", file)
				}
				files[file] = true
			}
			if !strings.Contains(b.flags, "gitVersion="+r.version) {
				t.Errorf("%s of %s is stamped with %s", b.name, r.version, b.flags)
			}
		}
	}
	for _, file := range []string{"/root/.bin/kubelet", "/root/.bin/.kubelet.stamp", "/root/.bin/kubernetes-v1.31.14/kubelet"} {
		if !files[file] {
			t.Errorf("%s is not built", file)
		}
	}
	if flags := (layout{version: "v1.31.14"}).kubernetesFlags(); !strings.Contains(flags, ".gitMinor=31 ") {
		t.Errorf("1.31 is stamped with %s", flags)
	}
}

// What runs is of the version, and what a part is started with names it: no part continues with another version.
func TestThePartsAreOfTheVersion(t *testing.T) {
	l := layout{Root: "/root", version: "v1.33.13"}
	a := &api{}
	of := 0
	for _, p := range apiParts(l, a) {
		for _, program := range kubernetesPrograms {
			if filepath.Base(p.argv[0]) != program {
				continue
			}
			of++
			if want := "/root/.bin/kubernetes-v1.33.13/" + program; p.argv[0] != want {
				t.Errorf("%s is %s, not %s", p.name, p.argv[0], want)
			}
		}
	}
	if of != 5 {
		t.Errorf("%d parts are programs of Kubernetes", of)
	}
}
