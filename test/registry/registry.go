// Package registry makes images of this machine's files and publishes them where
// the nodes of hack/cluster find them.
package registry

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// shell is the image that all others are built on.
const shell = "library/busybox:1.37"

// Registry is where the cluster's nodes pull images from.
type Registry struct {
	// Address is its host and port.
	Address string
	// Authority is the file of the certificate that vouches for it.
	Authority string
	root      string
}

// Image is another image with files on top of it.
type Image struct {
	// Name within the registry, with a tag.
	Name string
	// Base is the name of that other image within the registry, with a tag. Default: a shell.
	Base string
	// Files, from their places in the image to those on this machine. A name that ends
	// with a slash is an empty folder's.
	Files map[string]string
	// Settings are arguments of crane mutate.
	Settings []string
}

// Open starts the registry unless it runs. It needs the cluster, and crane in PATH.
func Open(ctx context.Context) (Registry, error) {
	root, err := cluster.Root()
	if err != nil {
		return Registry{}, err
	}
	r := Registry{root: root}
	printed, err := r.run(ctx, "go", "run", "-C", "hack/cluster", ".", "registry")
	if err != nil {
		return Registry{}, err
	}
	words := strings.Fields(printed[strings.LastIndexByte(printed, '\n')+1:])
	if len(words) != 2 {
		return Registry{}, fmt.Errorf("hack/cluster registry printed no address: %q", printed)
	}
	r.Address, r.Authority = words[0], words[1]
	return r, nil
}

// Push makes and publishes the image: the same files make the same one. It gives
// its reference by digest.
func (r Registry) Push(ctx context.Context, i Image) (string, error) {
	layer, err := os.CreateTemp("", "layer-*.tar")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(layer.Name()) }()
	err = pack(layer, i.Files)
	if closing := layer.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return "", err
	}
	name := r.Address + "/" + i.Name
	if _, err := r.run(ctx, "crane", "append", "--base", r.Address+"/"+cmp.Or(i.Base, shell), "--new_layer", layer.Name(), "--new_tag",
		name); err != nil {
		return "", err
	}
	return r.run(ctx, "crane", append([]string{"mutate", name, "--tag", name}, i.Settings...)...)
}

// PushArchive publishes the one image of an archive of hack/cluster's, and gives its
// reference by digest.
func (r Registry) PushArchive(ctx context.Context, name, archive string) (string, error) {
	layout := archive + ".layout"
	if err := os.Mkdir(layout, 0o700); err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(layout) }()
	if _, err := r.run(ctx, "tar", "-x", "-f", archive, "-C", layout); err != nil {
		return "", err
	}
	return r.run(ctx, "crane", "push", layout, r.Address+"/"+name)
}

const (
	// pushLimit is for one run of a program, which takes seconds: crane was once seen to hang in an upload for minutes.
	pushLimit = time.Minute
	// pushTries of what did not end in time. Each does the same again.
	pushTries = 3
)

// run a program and give what it prints.
func (r Registry) run(ctx context.Context, name string, args ...string) (said string, err error) {
	for range pushTries {
		limited, done := context.WithTimeout(ctx, pushLimit)
		said, err = r.runOnce(limited, name, args...)
		late := limited.Err() != nil
		done()
		if !late {
			break
		}
	}
	return said, err
}

func (r Registry) runOnce(ctx context.Context, name string, args ...string) (string, error) {
	var said, complained bytes.Buffer
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Stdout, command.Stderr = r.root, &said, &complained
	command.Env = append(os.Environ(), "SSL_CERT_FILE="+r.Authority)
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(complained.String()))
	}
	return strings.TrimSpace(said.String()), nil
}

// pack files in the order of their names, with no time of their own.
func pack(file *os.File, files map[string]string) error {
	archive := tar.NewWriter(file)
	made := map[string]bool{".": true}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := packFolder(archive, filepath.Dir(name), made); err != nil {
			return err
		}
		if strings.HasSuffix(name, "/") {
			continue
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
