package main

import "github.com/mainstay-operator/mainstay-operator/hack/internal/scratch"

// scratchImage is what a Dockerfile describes that starts FROM scratch and copies from a folder.
func scratchImage(name, dockerfile, from string) (ociImage, error) {
	described, err := scratch.Read(dockerfile, from)
	if err != nil {
		return ociImage{}, err
	}
	entries := make([]entry, 0, len(described.Files))
	for _, file := range described.Files {
		entries = append(entries, entry{name: file.Name, mode: file.Mode(), content: file.Content})
	}
	own, err := entriesLayer(entries)
	return ociImage{Name: name, Config: imageConfig{Labels: described.Labels}, Layers: []layer{own}}, err
}
