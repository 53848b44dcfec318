package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// etcdRepository is where the project of etcd publishes its images.
const etcdRepository = "quay.io/coreos/etcd"

// etcdRelease is a release of etcd, and its programs in the order of etcdPrograms.
type etcdRelease struct {
	version  string
	binaries []binary
}

// etcdReleases are the newest of each minor version. They have a module each, since what
// they depend on does not agree. The last one's is that of the API server's own etcd:
// where the cluster runs, it is built.
var etcdReleases = []etcdRelease{
	{"v3.5.35", etcdBinaries("-3.5")},
	{"v3.6.16", etcdBinaries("-3.6")},
	{"v3.7.3", etcd},
}

// etcdConfig is the contract of the images that these stand for: etcd is their command
// and not their entry point, and they name no user but root.
var etcdConfig = imageConfig{
	User: "0", Env: []string{usualPath}, ExposedPorts: map[string]struct{}{"2379/tcp": {}, "2380/tcp": {}},
	Cmd: []string{"/usr/local/bin/etcd"}, WorkingDir: "/var/lib/etcd",
}

// etcdFolders lie around the programs and what they write.
var etcdFolders = []entry{
	{name: "usr/", mode: 0o755}, {name: "usr/local/", mode: 0o755}, {name: "usr/local/bin/", mode: 0o755},
	{name: "var/", mode: 0o755}, {name: "var/etcd/", mode: 0o755}, {name: "var/lib/", mode: 0o755}, {name: "var/lib/etcd/", mode: 0o755},
}

// loadEtcd imports the images of the releases that are named, or of all. Those that are
// not in the cache are built: most clusters are up sooner without them.
func loadEtcd(ctx context.Context, l layout, named []string) error {
	releases, err := chosenEtcd(named)
	if err != nil {
		return err
	}
	unlock, err := lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.usable(); err != nil {
		return err
	}
	for _, r := range releases {
		digest, err := r.ensure(ctx, l)
		if err != nil {
			return err
		}
		fmt.Println(r.imageName(), digest)
	}
	return nil
}

// ensure imports the image, which is made when it is not in the cache, and gives its digest.
func (e etcdRelease) ensure(ctx context.Context, l layout) (string, error) {
	archive, err := e.archive(l)
	if err != nil {
		return "", err
	}
	digests, err := ensureArchive(ctx, archive, func(ctx context.Context) error { return e.create(ctx, l, archive) })
	if err != nil {
		return "", fmt.Errorf("image %s: %w", e.imageName(), err)
	}
	return digests[e.imageName()], nil
}

// chosenEtcd are the releases of these versions, which may end early: 3.6 is each of 3.6.
func chosenEtcd(named []string) ([]etcdRelease, error) {
	if len(named) == 0 {
		return etcdReleases, nil
	}
	chosen := map[string]bool{}
	for _, name := range named {
		version, found := "v"+strings.TrimPrefix(name, "v"), false
		for _, r := range etcdReleases {
			if strings.HasPrefix(r.version+".", version+".") {
				chosen[r.version], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("etcd %s is not among the releases that are built here: %v", name, versionsOf(etcdReleases))
		}
	}
	return slices.DeleteFunc(slices.Clone(etcdReleases), func(r etcdRelease) bool { return !chosen[r.version] }), nil
}

func versionsOf(releases []etcdRelease) []string {
	var versions []string
	for _, r := range releases {
		versions = append(versions, r.version)
	}
	return versions
}

func (e etcdRelease) imageName() string { return etcdRepository + ":" + e.version }

// archive has a name that changes with all that the image is made from.
func (e etcdRelease) archive(l layout) (string, error) {
	built, err := fingerprint(l, e.binaries[0])
	if err != nil {
		return "", err
	}
	all := fmt.Append(nil, recipe, runtime.GOARCH, built, e.imageName(), etcdConfig, withoutDistribution, etcdFolders)
	return cachedArchive(l, "etcd-"+e.version, all), nil
}

func (e etcdRelease) create(ctx context.Context, l layout, archive string) error {
	if err := build(ctx, l, e.binaries); err != nil {
		return err
	}
	image, err := e.image(l)
	if err != nil {
		return err
	}
	return keepArchive(archive, []ociImage{image})
}

// image holds the programs under their usual names, and no shell.
func (e etcdRelease) image(l layout) (ociImage, error) {
	entries := slices.Concat(withoutDistribution, etcdFolders)
	for i, program := range etcdPrograms {
		content, err := os.ReadFile(l.bin(e.binaries[i].name))
		if err != nil {
			return ociImage{}, err
		}
		entries = append(entries, entry{name: "usr/local/bin/" + program.name, mode: 0o755, content: content})
	}
	own, err := entriesLayer(entries)
	return ociImage{Name: e.imageName(), Config: etcdConfig, Layers: []layer{own}}, err
}
