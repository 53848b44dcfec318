package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file with another server would have containerd ask the host itself for what our registry lacks.
func TestImagesOfAHostAreLookedForInOurRegistryAlone(t *testing.T) {
	l := layout{Root: t.TempDir()}
	if err := redirect(l, []string{"ghcr.io", "registry.example.com:5000"}); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"ghcr.io", "registry.example.com:5000"} {
		content, err := os.ReadFile(filepath.Join(l.Root, ".cluster", "registries", host, "hosts.toml"))
		if err != nil {
			t.Fatal(err)
		}
		want := `server = "https://10.88.0.1:5000"

[host."https://10.88.0.1:5000"]
  ca = "` + l.Root + `/.cluster/registry/registry-ca.crt"
`
		if string(content) != want {
			t.Errorf("containerd is configured for %s by\n%s\nnot by\n%s", host, content, want)
		}
	}
}

func TestHostsOfRegistries(t *testing.T) {
	if err := checkHosts([]string{"ghcr.io", "localhost", "registry.example.com:5000", "10.0.0.1:80"}); err != nil {
		t.Error(err)
	}
	for _, host := range []string{"", "https://ghcr.io", "ghcr.io/mainstay-operator", "..", ".", "ghcr.io:", "--help"} {
		if err := checkHosts([]string{"docker.io", host}); err == nil || !strings.Contains(err.Error(), "before the first slash") {
			t.Errorf("%q: %v", host, err)
		}
	}
}
