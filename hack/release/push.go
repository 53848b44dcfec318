package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

func runPush(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("push", flag.ContinueOnError)
	registry := flags.String("registry", "", "host that replaces the one in the images' names")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("push needs the names of archives and charts")
	}
	return push(ctx, os.Stdout, *registry, flags.Args())
}

// pushable is an image, the index of some, or a chart.
type pushable interface {
	remote.Taggable
	Digest() (v1.Hash, error)
}

// push the images of archives, and charts, and print each name with its digest. A tag is set when all of them are there, so that no user
// sees half a release, and is never moved.
func push(ctx context.Context, out io.Writer, registry string, archives []string) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	folder, err := os.MkdirTemp("", "push-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	images := map[name.Tag]pushable{}
	for _, archive := range archives {
		found, err := readPushable(archive, folder)
		if err != nil {
			return err
		}
		for image, content := range found {
			tag, err := name.NewTag(on(registry, image), name.StrictValidation)
			if err != nil {
				return fmt.Errorf("%s: %w", archive, err)
			}
			images[tag] = content
		}
	}
	tags := slices.SortedFunc(maps.Keys(images), func(a, b name.Tag) int { return strings.Compare(a.String(), b.String()) })
	for _, tag := range tags {
		if err := pushByDigest(tag, images[tag], options); err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
	}
	for _, tag := range tags {
		if err := remote.Tag(tag, images[tag], options...); err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
		digest, err := images[tag].Digest()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s@%s\n", tag, digest); err != nil {
			return err
		}
	}
	return nil
}

// readPushable reads a chart, or an archive of images, which it unpacks in a temporary folder, and returns what it has by name.
func readPushable(file, temporary string) (map[string]pushable, error) {
	if strings.HasSuffix(file, ".tgz") {
		chart, err := readChart(file)
		return map[string]pushable{chart.name: chart.image}, err
	}
	into, err := os.MkdirTemp(temporary, "")
	if err != nil {
		return nil, err
	}
	images, err := readArchive(file, into)
	if err != nil {
		return nil, err
	}
	found := map[string]pushable{}
	for image, index := range images {
		found[image] = index
	}
	return found, nil
}

// on is an image's name on another registry; none changes nothing.
func on(registry, image string) string {
	if registry == "" {
		return image
	}
	_, path, _ := strings.Cut(image, "/")
	return registry + "/" + path
}

// pushByDigest pushes an image unless its tag is another image's.
func pushByDigest(tag name.Tag, image pushable, options []remote.Option) error {
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	there, err := remote.Head(tag, options...)
	var refused *transport.Error
	switch absent := errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound; {
	case absent:
	case err != nil:
		return err
	case there.Digest != digest:
		return fmt.Errorf("the registry has %s under this tag, not %s: raise the version", there.Digest, digest)
	}
	return remote.Push(tag.Digest(digest.String()), image, options...)
}
