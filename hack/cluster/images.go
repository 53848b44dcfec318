package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// imageFiles are the files of each image on top of Debian's.
//
//go:embed images
var imageFiles embed.FS

// recipe is raised when the code makes other images of the same input.
const recipe = "1"

const usualPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// sample is an image that the samples name, with the contract of the image it
// stands for: user, entry point, folder, port and stop signal.
type sample struct {
	name   string
	files  string // folder of imageFiles
	config imageConfig
	extra  []entry
}

var samples = []sample{
	{
		name: "docker.io/library/redis:8.0", files: "redis",
		config: serverConfig("6379/tcp", "redis-server", "/data"),
		extra:  []entry{{name: "data/", mode: 0o755, uid: 999}},
	},
	{
		name: "docker.io/valkey/valkey:8.1", files: "valkey",
		config: serverConfig("6379/tcp", "valkey-server", "/data"),
		extra:  []entry{{name: "data/", mode: 0o755, uid: 999}},
	},
	{
		name: "docker.io/library/memcached:1.6.38", files: "memcached",
		config: imageConfig{
			User: "memcache", Env: []string{usualPath}, ExposedPorts: withKey("11211/tcp"),
			Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"memcached"},
		},
	},
	{
		name: "docker.io/library/nginx:1.26", files: "nginx",
		config: imageConfig{
			Env: []string{usualPath}, ExposedPorts: withKey("80/tcp"), StopSignal: "SIGQUIT",
			Entrypoint: []string{"/docker-entrypoint.sh"}, Cmd: []string{"nginx", "-g", "daemon off;"},
		},
		extra: []entry{
			{name: "var/cache/nginx/", mode: 0o755},
			{name: "var/log/nginx/", mode: 0o755},
			{name: "var/log/nginx/access.log", link: "/dev/stdout"},
			{name: "var/log/nginx/error.log", link: "/dev/stderr"},
		},
	},
}

const busyboxImage = "docker.io/library/busybox:1.37"

func serverConfig(port, program, dir string) imageConfig {
	return imageConfig{
		Env: []string{usualPath}, ExposedPorts: withKey(port), WorkingDir: dir, Volumes: withKey(dir),
		Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{program},
	}
}

func withKey(key string) map[string]struct{} { return map[string]struct{}{key: {}} }

// ensureImages imports the images that containerd does not have: the pause
// image at every change of it, the samples from archives in the cache,
// which are made when they are not there.
func ensureImages(ctx context.Context, l layout) error {
	pauseContent, err := binaryImage(pauseImage, "65535:65535", l.bin("pause"))
	if err != nil {
		return err
	}
	if err := importImages(ctx, l, []ociImage{pauseContent}); err != nil {
		return err
	}
	archive, err := samplesArchive(l)
	if err != nil {
		return err
	}
	if _, err = ensureArchive(ctx, archive, func(ctx context.Context) error { return makeSamples(ctx, l, archive) }); err != nil {
		return err
	}
	_, err = etcdReleases[len(etcdReleases)-1].ensure(ctx, l) // the sample's, whose programs run here anyway
	return err
}

// samplesArchive has a name that changes with all that it is made from.
func samplesArchive(l layout) (string, error) {
	var all bytes.Buffer
	fmt.Fprintln(&all, recipe, suite, packages, samples)
	err := fs.WalkDir(imageFiles, ".", func(path string, item fs.DirEntry, err error) error {
		if err != nil || item.IsDir() {
			return err
		}
		content, err := imageFiles.ReadFile(path)
		fmt.Fprintln(&all, path, string(content))
		return err
	})
	if err != nil {
		return "", err
	}
	return cachedArchive(l, "samples", all.Bytes()), nil
}

// archiveSamples makes the archive of the samples unless it is in the cache.
func archiveSamples(ctx context.Context, l layout) error {
	archive, err := samplesArchive(l)
	if err != nil {
		return err
	}
	if _, err := readDigests(archive); err == nil {
		return nil
	}
	return makeSamples(ctx, l, archive)
}

func makeSamples(ctx context.Context, l layout, archive string) error {
	dir := l.state("rootfs")
	if err := debootstrap(ctx, dir); err != nil {
		return err
	}
	images, err := sampleImages(ctx, dir, l.state("rootfs.tar"))
	if err != nil {
		return err
	}
	if err := keepArchive(archive, images); err != nil {
		return err
	}
	if err := os.Remove(l.state("rootfs.tar")); err != nil {
		return err
	}
	return removeRootfs(ctx, dir)
}

// sampleImages share the one large layer.
func sampleImages(ctx context.Context, rootfs, tarball string) ([]ociImage, error) {
	base, err := treeLayer(rootfs, tarball, surplus)
	if err != nil {
		return nil, err
	}
	var images []ociImage
	for _, s := range samples {
		entries, err := embedded("images/" + s.files)
		if err != nil {
			return nil, err
		}
		own, err := entriesLayer(append(append(emptyFolders[:len(emptyFolders):len(emptyFolders)], s.extra...), entries...))
		if err != nil {
			return nil, err
		}
		images = append(images, ociImage{Name: s.name, Config: s.config, Layers: []layer{base, own}})
	}
	busybox, err := busyboxFrom(ctx, rootfs)
	return append(images, busybox), err
}

// embedded lists the files of an image; scripts are executable.
func embedded(root string) ([]entry, error) {
	var entries []entry
	err := fs.WalkDir(imageFiles, root, func(path string, item fs.DirEntry, err error) error {
		if err != nil || item.IsDir() {
			return err
		}
		content, err := imageFiles.ReadFile(path)
		mode := int64(0o644)
		if strings.HasSuffix(path, ".sh") {
			mode = 0o755
		}
		entries = append(entries, entry{name: strings.TrimPrefix(path, root+"/"), mode: mode, content: content})
		return err
	})
	return entries, err
}

// accounts of an image as small as busybox's.
var accounts = []entry{
	{name: "etc/", mode: 0o755},
	{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n")},
	{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnobody:x:65534:\n")},
}

// busyboxFrom makes an image of the one static binary, under all its names.
func busyboxFrom(ctx context.Context, rootfs string) (ociImage, error) {
	program := filepath.Join(rootfs, "usr/bin/busybox")
	content, err := os.ReadFile(program)
	if err != nil {
		return ociImage{}, err
	}
	applets, err := output(ctx, program, "--list")
	if err != nil {
		return ociImage{}, err
	}
	entries := slices.Concat([]entry{
		{name: "bin/", mode: 0o755},
		{name: "bin/busybox", mode: 0o755, content: content},
	}, accounts, []entry{
		{name: "root/", mode: 0o700},
		{name: "var/", mode: 0o755},
	}, emptyFolders)
	for applet := range strings.FieldsSeq(applets) {
		if applet != "busybox" {
			entries = append(entries, entry{name: "bin/" + applet, mode: 0o777, link: "busybox"})
		}
	}
	own, err := entriesLayer(entries)
	return ociImage{
		Name:   busyboxImage,
		Config: imageConfig{Env: []string{usualPath}, Cmd: []string{"sh"}},
		Layers: []layer{own},
	}, err
}
