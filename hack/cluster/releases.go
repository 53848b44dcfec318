package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// defaultVersion is that of hack/tools/kubernetes.
const defaultVersion = "v1.37.1"

// release is a version of Kubernetes that the cluster can run.
type release struct {
	version string
	// earlier has the modules that come from an earlier patch, since not every module proxy has their tag of this one.
	earlier map[string]string
}

// releases are the oldest that the operator accepts, some after it, and the default.
var releases = []release{
	{version: "v1.31.14", earlier: map[string]string{
		"k8s.io/endpointslice": "v0.31.13", "k8s.io/kube-controller-manager": "v0.31.13", "k8s.io/kube-proxy": "v0.31.11",
		"k8s.io/kube-scheduler": "v0.31.13",
	}},
	{version: "v1.33.13"},
	{version: "v1.35.4"},
	{version: defaultVersion},
}

// chosenVersion returns the version to run: the wanted one, which may end early, so that 1.31 is the one of 1.31. If none is wanted,
// it is the one that the cluster has, or the default. A cluster keeps its version, because an older API server must not read what a
// newer one has stored.
func chosenVersion(wanted, recorded string) (string, error) {
	version := recorded
	if wanted != "" {
		known, ok := findRelease(wanted)
		if !ok {
			return "", fmt.Errorf("KUBERNETES is %q: it must be one of %s", wanted, releaseNames())
		}
		version = known.version
	}
	_, runs := findRelease(recorded)
	switch {
	case version == "":
		return defaultVersion, nil
	case recorded != "" && version != recorded:
		return "", fmt.Errorf("the cluster of this checkout has Kubernetes %s, and KUBERNETES asks for %s: run make cluster-down first, "+
			"which deletes the cluster and its data", recorded, version)
	case recorded != "" && !runs:
		return "", fmt.Errorf("the cluster of this checkout has Kubernetes %s, and this checkout runs %s: run make cluster-down first, "+
			"which deletes the cluster and its data", recorded, releaseNames())
	}
	return version, nil
}

// findRelease returns the release of a version, which may end early.
func findRelease(version string) (release, bool) {
	for _, r := range releases {
		if version != "" && strings.HasPrefix(r.version+".", "v"+strings.TrimPrefix(version, "v")+".") {
			return r, true
		}
	}
	return release{}, false
}

func releaseNames() string {
	var names []string
	for _, r := range releases {
		names = append(names, r.version)
	}
	return strings.Join(names, ", ")
}

// recordedVersion returns the version of this checkout's cluster, empty if there is none. A cluster with data and without a record has
// the default.
func (l layout) recordedVersion() string {
	if record, err := os.ReadFile(l.state("kubernetes")); err == nil {
		return strings.TrimSpace(string(record))
	}
	if firstExisting(l.state("etcd", "member")) != "" {
		return defaultVersion
	}
	return ""
}

// recordVersion notes the version next to the data, and links its programs to a place that does not depend on the version.
func (l layout) recordVersion() error {
	if err := os.WriteFile(l.state("kubernetes"), []byte(l.kubernetesVersion()+"\n"), 0o644); err != nil {
		return err
	}
	return linkTo(l.kubernetesBin(""), l.state("bin"))
}

// linkTo makes path a link to target. Another command may do the same.
func linkTo(target, path string) error {
	if have, err := os.Readlink(path); err == nil && have == target {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := os.Symlink(target, path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (l layout) kubernetesVersion() string { return cmp.Or(l.version, defaultVersion) }

// kubernetesFolder is where below .bin the programs of the version are.
func (l layout) kubernetesFolder() string {
	if version := l.kubernetesVersion(); version != defaultVersion {
		return "kubernetes-" + version
	}
	return ""
}

// kubernetesBin is a program of Kubernetes.
func (l layout) kubernetesBin(name string) string {
	return l.bin(filepath.Join(l.kubernetesFolder(), name))
}

// kubernetesPrograms: an envtest needs the first two.
var kubernetesPrograms = []string{"kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"}

// kubernetes are the programs of the version.
func (l layout) kubernetes() []binary {
	folder, module := l.kubernetesFolder(), "hack/tools/kubernetes"
	if folder != "" {
		module = filepath.Join(".bin", folder)
	}
	group := make([]binary, 0, len(kubernetesPrograms))
	for _, name := range kubernetesPrograms {
		group = append(group, binary{name: filepath.Join(folder, name), module: module, pkg: kubernetesPackage(name), flags: l.kubernetesFlags()})
	}
	return group
}

func kubernetesPackage(program string) string { return "k8s.io/kubernetes/cmd/" + program }

// kubernetesFlags stamp the version that clients see.
func (l layout) kubernetesFlags() string {
	version := l.kubernetesVersion()
	return "-s -w" +
		" -X k8s.io/component-base/version.gitVersion=" + version +
		" -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=" + strconv.Itoa(minorOf(version)) +
		" -X k8s.io/client-go/pkg/version.gitVersion=" + version
}

// minorOf returns 31 for v1.31.14.
func minorOf(version string) int {
	var minor int
	_, _ = fmt.Sscanf(version, "v1.%d.", &minor)
	return minor
}
