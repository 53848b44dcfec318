package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// configFiles are the parts' own configuration, as templates.
//
//go:embed config
var configFiles embed.FS

// settings is what the templates know.
type settings struct {
	layout
	RunDir, Socket, Bridge, Address, Node, Cgroup, Network string
	PodRange, ServiceRange, PauseImage, PluginDir          string
	MasqueradeAll, Upstream                                bool
	kubeletLimits
}

// kubeletLimits says how the kubelet's shortest back-off is configured, which is not in all versions.
type kubeletLimits struct {
	// BackOff: the kubelet knows crashLoopBackOff. Before, a container that keeps failing is restarted after up to five minutes.
	BackOff bool
	// BackOffGate: it wants a feature gate for that.
	BackOffGate bool
}

func kubeletLimitsOf(version string) kubeletLimits {
	minor := minorOf(version)
	return kubeletLimits{BackOff: minor >= 32, BackOffGate: minor >= 32 && minor < 35}
}

// users who need a kubeconfig, see clusterSubjects.
var users = []string{"admin", "controller-manager", "scheduler", "node", "proxy", "dns"}

func (l layout) settings(ctx context.Context) settings {
	return settings{
		layout: l, RunDir: runDir, Socket: containerdSocket, Bridge: bridge, Address: nodeAddress, Node: nodeName,
		Cgroup: cgroupName, Network: networkName, PodRange: podRange, ServiceRange: serviceRange,
		PauseImage: pauseImage, PluginDir: pluginDir(),
		MasqueradeAll: !bridgeFiltered(ctx), Upstream: hasNameserver(), kubeletLimits: kubeletLimitsOf(l.kubernetesVersion()),
	}
}

// State is a path below the cluster's state, for templates.
func (s settings) State(elem ...string) string { return s.state(elem...) }

func hasNameserver() bool {
	resolv, _ := os.ReadFile("/etc/resolv.conf")
	return strings.Contains("\n"+string(resolv), "\nnameserver ")
}

// render returns the content of every file of config/.
func (s settings) render() (map[string][]byte, error) {
	all, err := template.New("").Option("missingkey=error").ParseFS(configFiles, "config/*")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, t := range all.Templates() {
		var content bytes.Buffer
		if err := t.Execute(&content, s); err != nil {
			return nil, err
		}
		files[t.Name()] = content.Bytes()
	}
	return files, nil
}

// writeSettings writes every file of config/ and a kubeconfig for every user.
func writeSettings(ctx context.Context, l layout) error {
	files, err := l.settings(ctx).render()
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := writeChanged(configPath(l, name), content); err != nil {
			return err
		}
	}
	for _, user := range users {
		if err := writeKubeconfig(l, user); err != nil {
			return err
		}
	}
	return nil
}

// configPath puts the network's configuration into a folder of its own, since
// containerd takes every file of that folder.
func configPath(l layout, name string) string {
	if filepath.Ext(name) == ".conflist" {
		return l.state("cni", name)
	}
	return l.state("config", name)
}

const kubeconfigTemplate = `apiVersion: v1
kind: Config
current-context: mainstay-cluster
clusters:
- name: mainstay-cluster
  cluster:
    server: SERVER
    certificate-authority-data: AUTHORITY
contexts:
- name: mainstay-cluster
  context: {cluster: mainstay-cluster, user: USER}
users:
- name: USER
  user:
    client-certificate-data: CERTIFICATE
    client-key-data: KEY
`

func writeKubeconfig(l layout, user string) error {
	pairs := []string{"SERVER", apiServer, "USER", user}
	for word, file := range map[string]string{"AUTHORITY": "ca.crt", "CERTIFICATE": user + ".crt", "KEY": user + ".key"} {
		content, err := os.ReadFile(l.pki(file))
		if err != nil {
			return err
		}
		pairs = append(pairs, word, base64.StdEncoding.EncodeToString(content))
	}
	return writeChanged(l.kubeconfig(user), []byte(strings.NewReplacer(pairs...).Replace(kubeconfigTemplate)))
}

// writeChanged leaves a file alone that is as it should be: kube-proxy ends
// at every write to its own.
func writeChanged(path string, content []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	return os.WriteFile(path, content, 0o600)
}
