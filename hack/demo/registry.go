package main

import (
	"archive/tar"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// registry is the one that hack/cluster runs beside the cluster, which its nodes
// pull from.
type registry struct {
	*demo
	address, authority string
}

// packed is an image: a shell, and these files on top of it.
type packed struct {
	name  string            // within the registry, with a tag
	files map[string]string // from their places in the image to those on this machine
	with  []string          // what crane's mutate shall set
}

func (d *demo) openRegistry(ctx context.Context) (registry, error) {
	printed, err := d.output(ctx, "", "go", "run", "./hack/cluster", "registry")
	if err != nil {
		return registry{}, err
	}
	address, authority, told := strings.Cut(printed[strings.LastIndexByte(printed, '\n')+1:], " ")
	if !told {
		return registry{}, fmt.Errorf("hack/cluster registry printed no address: %q", printed)
	}
	return registry{d, address, authority}, nil
}

// push the image: the same files make the same one. It gives its reference by digest.
func (r registry) push(ctx context.Context, p packed) (string, error) {
	layer, err := os.CreateTemp("", "layer-*.tar")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(layer.Name()) }()
	err = pack(layer, p.files)
	if closing := layer.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return "", err
	}
	name := r.address + "/" + p.name
	if _, err := r.crane(ctx, "append", "--base", r.address+"/library/busybox:1.37", "--new_layer", layer.Name(), "--new_tag", name); err != nil {
		return "", err
	}
	return r.crane(ctx, append([]string{"mutate", name, "--tag", name}, p.with...)...)
}

func (r registry) crane(ctx context.Context, args ...string) (string, error) {
	return r.output(ctx, "", "env", append([]string{"SSL_CERT_FILE=" + r.authority, "crane"}, args...)...)
}

// pack files in the order of their names, with no time of their own.
func pack(file *os.File, files map[string]string) error {
	archive := tar.NewWriter(file)
	made := map[string]bool{".": true}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := packFolder(archive, filepath.Dir(name), made); err != nil {
			return err
		}
		content, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		info, err := os.Stat(files[name])
		if err != nil {
			return err
		}
		header := &tar.Header{Name: name, Mode: int64(info.Mode().Perm() &^ 0o022), Size: int64(len(content)), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func packFolder(archive *tar.Writer, name string, made map[string]bool) error {
	if made[name] {
		return nil
	}
	made[name] = true
	if err := packFolder(archive, filepath.Dir(name), made); err != nil {
		return err
	}
	return archive.WriteHeader(&tar.Header{Name: name + "/", Mode: 0o755, Typeflag: tar.TypeDir})
}
