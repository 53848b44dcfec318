package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/proxy"
)

// One machine runs one such cluster, because these names are the machine's.
const (
	bridge       = "cni0"
	bridgeMAC    = "0a:58:0a:58:00:01" // fixed, or it would follow the ports that come and go
	nodeAddress  = "10.88.0.1"
	podRange     = proxy.Pods
	serviceRange = proxy.Services
	firstService = "10.96.0.1"
	nodeName     = "node-1"
	cgroupName   = "mainstay-cluster"
	networkName  = "mainstay-cluster"
	pauseImage   = "localhost/pause:1"
	apiServer    = "https://" + nodeAddress + ":6443"

	// runDir holds what must not outlive a boot, below a path that is short
	// enough for sockets and the same for every checkout.
	runDir           = "/run/mainstay-cluster"
	containerdSocket = runDir + "/containerd.sock"
)

// maxSocketPath is what sun_path of a unix socket address holds.
const maxSocketPath = 107

// layout knows where everything of this checkout lies.
type layout struct {
	Root string
	// version of Kubernetes; empty is the default.
	version string
}

// findLayout walks up from the working directory to the top of the checkout.
func findLayout() (layout, error) {
	dir, err := os.Getwd()
	if err != nil {
		return layout{}, err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "hack", "tools", "kubernetes", "go.mod")); err == nil {
			l := layout{Root: dir}
			l.version = l.recordedVersion()
			return l, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return layout{}, errors.New("not inside a checkout of this repository: no hack/tools/kubernetes/go.mod here or above")
		}
		dir = parent
	}
}

// bin is a built binary.
func (l layout) bin(name string) string { return filepath.Join(l.Root, ".bin", name) }

// state is a path below the folder that holds all of the cluster's state.
func (l layout) state(elem ...string) string {
	return filepath.Join(append([]string{l.Root, ".cluster"}, elem...)...)
}

// disk is the file of a volatile state, until it is mounted.
func (l layout) disk() string { return l.state() + ".disk" }

func (l layout) log(part string) string { return l.state("log", part+".log") }

func (l layout) pki(file string) string { return l.state("pki", file) }

// kubeconfig of the administrator is the one that users are pointed at.
func (l layout) kubeconfig(user string) string {
	if user == "admin" {
		return l.state("kubeconfig")
	}
	return l.state("config", user+".kubeconfig")
}

// prepare makes the folders, and refuses a checkout too deep for the sockets
// that kubelet opens below its own folder.
func (l layout) prepare() error {
	if socket := l.state("kubelet", "pod-resources", "kubelet.sock"); len(socket) > maxSocketPath {
		return fmt.Errorf("the path of this checkout is too long for unix sockets (%s): move it to a shorter one", socket)
	}
	for _, dir := range []string{"log", "config", "etcd", "containerd", "kubelet", "cni"} {
		if err := os.MkdirAll(l.state(dir), 0o700); err != nil {
			return err
		}
	}
	// The pid files lie in runDir, where other checkouts find them too.
	return linkTo(runDir, l.state("run"))
}
