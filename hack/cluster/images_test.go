package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestArchiveIsReproducible(t *testing.T) {
	dir := t.TempDir()
	program, guard := filepath.Join(dir, "manager"), filepath.Join(dir, "guard")
	if err := errors.Join(os.WriteFile(program, []byte("a program"), 0o600), os.WriteFile(guard, []byte("another"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		image, err := binaryImage("example.com/manager:v1", "65532:65532", program, guard)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeArchive(out, []ociImage{image}); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(program, time.Now(), time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same binary gives two archives")
	}
}

func TestArchiveNamesPlatformAndSharesLayers(t *testing.T) {
	shared := layerOf([]byte("shared"))
	images := []ociImage{{Name: "a:1", Layers: []layer{shared}}, {Name: "b:1", Layers: []layer{shared}, Config: imageConfig{User: "1"}}}
	var archive bytes.Buffer
	if err := writeArchive(&archive, images); err != nil {
		t.Fatal(err)
	}
	files := untar(t, &archive)
	if count := len(files); count != 7 { // one layer, two configs, two manifests, index, version
		t.Errorf("%d files in the archive", count)
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	for i, manifest := range index.Manifests {
		if manifest.Digest != images[i].digest() || manifest.Annotations["io.containerd.image.name"] != images[i].Name {
			t.Errorf("manifest %d is %v", i, manifest)
		}
	}
	_, config := images[0].documents()
	if !strings.Contains(string(config), `"architecture":"`) || !strings.Contains(string(config), `"os":"linux"`) {
		t.Errorf("the config names no platform: %s", config)
	}
}

func TestTreeLayerKeepsLinksAndSkips(t *testing.T) {
	root := t.TempDir()
	err := errors.Join(
		os.MkdirAll(filepath.Join(root, "skipped", "deep"), 0o755),
		os.WriteFile(filepath.Join(root, "a"), []byte("content"), 0o600),
		os.Link(filepath.Join(root, "a"), filepath.Join(root, "b")),
		os.Symlink("a", filepath.Join(root, "c")),
	)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "layer.tar")
	packed, err := treeLayer(root, path, func(name string) bool { return isBelow(name, "skipped") })
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if packed.digest != digestOf(content) || packed.size != int64(len(content)) {
		t.Error("digest or size are not those of the file")
	}
	var seen []string
	for reader := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, header.Name+string(header.Typeflag)+header.Linkname)
	}
	if got := strings.Join(seen, " "); got != "a0 b1a c2a" {
		t.Errorf("packed %q", got)
	}
}

func TestRenumberReplacesUsers(t *testing.T) {
	const debian = "root:x:0:0:root:/root:/bin/bash\nredis:x:100:102::/var/lib/redis:/usr/sbin/nologin\n"
	got := renumber(true)(debian)
	if strings.Count(got, "redis:") != 1 || !strings.Contains(got, "redis:x:999:999:") || !strings.HasPrefix(got, "root:") {
		t.Errorf("passwd became\n%s", got)
	}
	if group := renumber(false)("redis:x:102:\n"); !strings.Contains(group, "memcache:x:11211:\n") || strings.Contains(group, "102") {
		t.Errorf("group became\n%s", group)
	}
}

func TestBuiltName(t *testing.T) {
	for pkg, want := range map[string]string{
		"go.etcd.io/etcd/server/v3": "server", "k8s.io/kubernetes/cmd/kubelet": "kubelet", "./pause": "pause", "x/viewer": "viewer",
	} {
		if got := builtName(pkg); got != want {
			t.Errorf("%s: %s, want %s", pkg, got, want)
		}
	}
}

func untar(t *testing.T, archive io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}
