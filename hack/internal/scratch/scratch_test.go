package scratch

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
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
	image, err := Read(filepath.Join(dir, "Dockerfile"), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := Image{Labels: map[string]string{"kind": "bundle"}, Files: []File{
		{Name: "there/"}, {Name: "there/manifests/"}, {"there/manifests/a.yaml", []byte("a: 1\n")},
		{Name: "there/manifests/deep/"}, {"there/manifests/deep/b.yaml", []byte("b: 2\n")},
	}}
	if !reflect.DeepEqual(image, want) {
		t.Errorf("read %q, want %q", image, want)
	}

	write("Dockerfile", "FROM debian\nRUN true\n")
	if _, err := Read(filepath.Join(dir, "Dockerfile"), dir); err == nil || !strings.Contains(err.Error(), "FROM debian") {
		t.Errorf("what it cannot do: %v", err)
	}
}
