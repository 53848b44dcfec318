package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// ensureArchive imports the images of an archive in the cache that containerd
// does not have; an archive that is not there is made first. It gives their
// digests by their names.
func ensureArchive(ctx context.Context, archive string, create func(context.Context) error) (map[string]string, error) {
	digests, err := readDigests(archive)
	if err != nil {
		if err := create(ctx); err != nil {
			return nil, err
		}
		if digests, err = readDigests(archive); err != nil {
			return nil, err
		}
	}
	present, err := havingAll(ctx, digests)
	if err != nil || present {
		return digests, err
	}
	return digests, importArchive(ctx, archive)
}

// cachedArchive is outside of the checkout, where others find it, too.
func cachedArchive(l layout, name string, madeFrom []byte) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = l.state("cache")
	}
	return filepath.Join(cache, "mainstay-cluster", name+"-"+strings.TrimPrefix(digestOf(madeFrom), "sha256:")[:16]+".tar")
}

// keepArchive writes an archive into the cache, and then what says that it is complete.
func keepArchive(archive string, images []ociImage) error {
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return err
	}
	if err := writeArchiveFile(archive, images); err != nil {
		return err
	}
	digests := map[string]string{}
	for _, image := range images {
		digests[image.Name] = image.digest()
	}
	return os.WriteFile(archive+".json", encode(digests), 0o644)
}

// readDigests reads what is written last next to a complete archive.
func readDigests(archive string) (map[string]string, error) {
	if _, err := os.Stat(archive); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(archive + ".json")
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	return digests, json.Unmarshal(content, &digests)
}
