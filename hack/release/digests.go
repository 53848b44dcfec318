package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

func runDigests(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("digests", flag.ContinueOnError)
	registry := flags.String("registry", "", "host that has copies of the images under the same paths; default: the one in each name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("digests needs the file of the operands")
	}
	return updateDigests(ctx, os.Stdout, *registry, flags.Arg(0))
}

// updateDigests writes the digest of each operand into their file, and prints them. It changes nothing unless it learns all of them.
func updateDigests(ctx context.Context, out io.Writer, registry, file string) error {
	list, err := readOperands(file)
	if err != nil {
		return err
	}
	if err := askRegistries(ctx, registry, list); err != nil {
		return fmt.Errorf("%s stays as it is: %w", file, err)
	}
	for _, o := range list {
		if _, err := fmt.Fprintln(out, o.pinned()); err != nil {
			return err
		}
	}
	return list.write(file)
}

// askRegistries sets the digest of each operand. The error names each registry that does not answer, once, and each image whose digest
// is not known, with the cause.
func askRegistries(ctx context.Context, registry string, list operandList) error {
	var errs []error
	silent := map[string]bool{}
	for i, o := range list {
		tag, err := name.NewTag(on(registry, o.Image), name.StrictValidation)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s must have a registry, a name and a tag: %w", o.Image, err))
			continue
		}
		host := tag.RegistryStr()
		if silent[host] {
			continue
		}
		found, err := remote.Head(tag, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		var refused *transport.Error
		switch answered := errors.As(err, &refused); {
		case answered && refused.StatusCode == http.StatusNotFound:
			errs = append(errs, fmt.Errorf("the registry %s has no image %s", host, tag))
		case answered:
			errs = append(errs, fmt.Errorf("the registry %s refuses to name the digest of %s: %w", host, tag, err))
		case isSilence(err):
			silent[host] = true
			errs = append(errs, fmt.Errorf("the registry %s does not answer: %w", host, err))
		case err != nil:
			errs = append(errs, fmt.Errorf("asking the registry %s for the digest of %s: %w", host, tag, err))
		case !found.MediaType.IsIndex():
			errs = append(errs, fmt.Errorf("%s is for one architecture alone, and a release is for %s", tag, strings.Join(architectures, " and ")))
		default:
			list[i].Digest = found.Digest.String()
		}
	}
	return errors.Join(errs...)
}

// isSilence reports whether a request failed because its connection was refused, or because its time was over.
func isSilence(err error) bool {
	var timed net.Error
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &timed) && timed.Timeout()
}

// isDigest reports whether a text is empty, or the digest of an image.
func isDigest(text string) bool {
	_, err := v1.NewHash(text)
	return text == "" || err == nil
}
