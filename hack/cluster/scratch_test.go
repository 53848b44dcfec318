package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestScratchImage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bundle/manifests/a.yaml", "a: 1\n")
	write("bundle/manifests/deep/b.yaml", "b: 2\n")
	write("Dockerfile", "FROM scratch\n# what it is\nLABEL kind=bundle\nCOPY bundle/manifests /there/manifests/\n")
	image, err := scratchImage("example.com/bundle:v1", filepath.Join(dir, "Dockerfile"), dir)
	if err != nil {
		t.Fatal(err)
	}
	if image.Config.Labels["kind"] != "bundle" {
		t.Errorf("labels %v", image.Config.Labels)
	}
	files := untar(t, strings.NewReader(string(image.Layers[0].content)))
	if string(files["there/manifests/a.yaml"]) != "a: 1\n" || string(files["there/manifests/deep/b.yaml"]) != "b: 2\n" {
		t.Errorf("files %v", files)
	}

	write("Dockerfile", "FROM debian\nRUN true\n")
	if _, err := scratchImage("x", filepath.Join(dir, "Dockerfile"), dir); err == nil || !strings.Contains(err.Error(), "FROM debian") {
		t.Errorf("what it cannot do: %v", err)
	}
}
