package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeCtr stands for ctr --address SOCKET --namespace NAME images COMMAND. An archive that it
// imports becomes the one image that it lists.
const fakeCtr = `#!/bin/sh
case $6 in
import) echo import >>"$CONTAINERD/calls"; cp "$7.json" "$CONTAINERD/images"; echo imported ;;
list) [ ! -e "$CONTAINERD/images" ] || tr -d '{}"' <"$CONTAINERD/images" | sed 's/:sha256/ type sha256/' ;;
esac
`

// What takes minutes to make is made once, and a cluster that lost it gets it from the cache.
func TestAnArchiveIsMadeAndImportedOnce(t *testing.T) {
	programs, containerd := t.TempDir(), t.TempDir()
	t.Setenv("CONTAINERD", containerd)
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(programs, "ctr"), []byte(fakeCtr), 0o700); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "cache", "archive.tar")
	image := ociImage{Name: "example.com/a:v1", Layers: []layer{layerOf([]byte("a"))}}
	made := 0
	ensure := func() {
		t.Helper()
		digests, err := ensureArchive(t.Context(), archive, func(context.Context) error {
			made++
			return keepArchive(archive, []ociImage{image})
		})
		if err != nil || digests[image.Name] != image.digest() {
			t.Fatalf("%v, %v", digests, err)
		}
	}
	imported := func() int {
		calls, _ := os.ReadFile(filepath.Join(containerd, "calls"))
		return strings.Count(string(calls), "import")
	}

	ensure()
	ensure()
	if made != 1 || imported() != 1 {
		t.Errorf("made %d times, imported %d times", made, imported())
	}
	if err := os.Remove(filepath.Join(containerd, "images")); err != nil {
		t.Fatal(err)
	}
	ensure()
	if made != 1 || imported() != 2 {
		t.Errorf("made %d times, imported %d times into two clusters", made, imported())
	}
}

func TestAnUnfinishedArchiveIsRecreated(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "archive.tar")
	if err := os.WriteFile(archive, []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("interrupted again")
	_, err := ensureArchive(t.Context(), archive, func(context.Context) error { return failure })
	if !errors.Is(err, failure) {
		t.Errorf("it was taken for whole: %v", err)
	}
}
