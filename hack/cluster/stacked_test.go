package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
)

// The manifest names the layers of the image below; containerd has their content.
func TestAnArchiveLeavesOutLayersThatArePresent(t *testing.T) {
	below, own := layerOf([]byte("below")), layerOf([]byte("own"))
	below.present = true
	var archive bytes.Buffer
	if err := writeArchive(&archive, []ociImage{{Name: "a", Layers: []layer{below, own}}}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for reader := tar.NewReader(&archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	blob := func(l layer) string { return "blobs/sha256/" + l.digest[len("sha256:"):] }
	if slices.Contains(names, blob(below)) || !slices.Contains(names, blob(own)) || len(names) != 5 {
		t.Errorf("%q", names)
	}
}

func TestDigestsIn(t *testing.T) {
	listed := "REF TYPE DIGEST SIZE\na/b:1 application/x sha256:12 1.0 MiB\n\nshort\n"
	if got := digestsIn(listed); got["a/b:1"] != "sha256:12" || len(got) != 2 {
		t.Errorf("%v", got)
	}
}
