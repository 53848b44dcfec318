package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// loadArchives imports archives that were made elsewhere.
func loadArchives(ctx context.Context, l layout, archives []string) error {
	if len(archives) == 0 {
		return errors.New("load-image needs the names of image archives, as docker save and crane pull make them")
	}
	if err := l.usable(); err != nil {
		return err
	}
	for _, archive := range archives {
		if err := importArchive(ctx, archive); err != nil {
			return err
		}
	}
	return nil
}

// loadImage packs an image and imports it.
func loadImage(ctx context.Context, l layout, args []string) error {
	image, packed, err := packedImage("image", args)
	if err != nil {
		return err
	}
	if err := l.usable(); err != nil {
		return err
	}
	if packed.base != "" {
		if image, err = stackedImage(ctx, packed.base, image.Name, packed.binaries...); err != nil {
			return err
		}
	}
	if err := importImages(ctx, l, []ociImage{image}); err != nil {
		return err
	}
	fmt.Println(image.Name, image.digest())
	return nil
}

// archiveImage packs an image into a file.
func archiveImage(_ context.Context, _ layout, args []string) error {
	image, packed, err := packedImage("archive", args)
	if err != nil {
		return err
	}
	if packed.output == "" || packed.base != "" {
		return errors.New("archive needs --output, and has no --base")
	}
	if err := writeArchiveFile(packed.output, []ociImage{image}); err != nil {
		return err
	}
	fmt.Println(image.Name, image.digest())
	return nil
}

// packing is what the flags of a command say besides the image.
type packing struct {
	output, base string
	binaries     []string
}

// packedImage is what the flags of a command describe.
func packedImage(command string, args []string) (image ociImage, p packing, err error) {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	name := flags.String("name", "", "full name of the image, with registry and tag")
	flags.Func("binary", "static binary that becomes its entry point; further ones are next to it", func(path string) error {
		p.binaries = append(p.binaries, path)
		return nil
	})
	flags.StringVar(&p.base, "base", "", "image of the cluster whose programs the binaries precede on the path; the rest stays as it is")
	dockerfile := flags.String("dockerfile", "", "or a Dockerfile that starts FROM scratch, labels and copies")
	from := flags.String("context", "", "folder that the Dockerfile copies from (default its own)")
	user := flags.String("user", "65532:65532", "user and group that the binary runs as")
	flags.StringVar(&p.output, "output", "", "archive to write")
	if err := flags.Parse(args); err != nil {
		return ociImage{}, packing{}, err
	}
	switch {
	case *name == "" || (len(p.binaries) == 0) == (*dockerfile == ""):
		return ociImage{}, packing{}, fmt.Errorf("%s needs --name, and --binary or --dockerfile", command)
	case p.base != "" && *dockerfile != "":
		return ociImage{}, packing{}, errors.New("--base takes --binary: put what a --dockerfile copies into an image of its own")
	case len(p.binaries) > 0:
		image, err = binaryImage(*name, *user, p.binaries...)
	default:
		image, err = scratchImage(*name, *dockerfile, cmp.Or(*from, filepath.Dir(*dockerfile)))
	}
	return image, p, err
}

// usable fails when our containerd does not run.
func (l layout) usable() error {
	if err := l.refuseForeign(); err != nil {
		return err
	}
	if _, alive := running("containerd"); !alive {
		return errors.New("the cluster is down: go run -C hack/cluster . up")
	}
	return nil
}

// withoutDistribution is what images without a distribution hold besides their
// binaries: users and a folder for temporary files.
var withoutDistribution = []entry{
	{name: "etc/", mode: 0o755},
	{name: "etc/passwd", mode: 0o644,
		content: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
	{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
	{name: "tmp/", mode: 0o1777},
}

// binaryImage holds binaries, the first of which is started and all of which are
// found by their names.
func binaryImage(name, user string, binaries ...string) (ociImage, error) {
	programs, err := programEntries("", binaries)
	if err != nil {
		return ociImage{}, err
	}
	own, err := entriesLayer(append(slices.Clone(withoutDistribution), programs...))
	return ociImage{
		Name:   name,
		Config: imageConfig{User: user, Env: []string{usualPath + ":/"}, Entrypoint: []string{"/" + filepath.Base(binaries[0])}, WorkingDir: "/"},
		Layers: []layer{own},
	}, err
}

// programEntries are binaries in a folder of the image.
func programEntries(folder string, binaries []string) (entries []entry, err error) {
	for _, path := range binaries {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: folder + filepath.Base(path), mode: 0o755, content: content})
	}
	return entries, nil
}

// importImages imports what containerd does not have with the same digest.
func importImages(ctx context.Context, l layout, images []ociImage) error {
	digests := map[string]string{}
	for _, image := range images {
		digests[image.Name] = image.digest()
	}
	present, err := havingAll(ctx, digests)
	if err != nil || present {
		return err
	}
	dir, err := os.MkdirTemp(l.state(), "import-") // others may import, too
	if err != nil {
		return err
	}
	archive := filepath.Join(dir, "images.tar")
	if err := writeArchiveFile(archive, images); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return errors.Join(importArchive(ctx, archive), os.RemoveAll(dir))
}

func importArchive(ctx context.Context, archive string) error {
	printed, err := ctr(ctx, "images", "import", archive)
	if err != nil {
		return err
	}
	if strings.TrimSpace(printed) == "" {
		return fmt.Errorf("%s holds no image for this machine: an image needs its architecture and os", archive)
	}
	return nil
}

func writeArchiveFile(path string, images []ociImage) error {
	fresh := path + ".new"
	file, err := os.Create(fresh)
	if err != nil {
		return err
	}
	if err := errors.Join(writeArchive(file, images), file.Close()); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return os.Rename(fresh, path)
}

// havingAll reports whether containerd has every image with its digest.
func havingAll(ctx context.Context, digests map[string]string) (bool, error) {
	listed, err := ctr(ctx, "images", "list")
	if err != nil {
		return false, err
	}
	have := digestsIn(listed)
	for name, digest := range digests {
		if have[name] != digest {
			return false, nil
		}
	}
	return true, nil
}
