package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func runCheck(_ context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("check needs the folder of a release")
	}
	return check(os.Stdout, args[0])
}

// check that the sums of a release are right, its images whole and for all architectures, and that whatever names one of them has
// its digest. It prints the images.
func check(out io.Writer, folder string) error {
	if err := checkSums(folder); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(folder, "*.tar"))
	if err != nil || len(archives) == 0 {
		return errors.Join(err, fmt.Errorf("%s has no archive", folder))
	}
	temporary, err := os.MkdirTemp("", "check-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	own, offline := map[string]v1.ImageIndex{}, map[string]v1.ImageIndex{}
	for _, archive := range archives {
		into, err := os.MkdirTemp(temporary, "")
		if err != nil {
			return err
		}
		images, err := readArchive(archive, into)
		if err != nil {
			return err
		}
		if strings.HasPrefix(filepath.Base(archive), "mainstay-operator-offline-") {
			offline = images
			continue
		}
		for name, index := range images {
			if err := checkImage(index); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			own[name] = index
		}
	}
	digests, err := digestsOf(own)
	if err != nil {
		return err
	}
	if err := checkOffline(offline, digests); err != nil {
		return err
	}
	if err := checkReferences(folder, own, digests); err != nil {
		return err
	}
	if err := addChart(folder, digests); err != nil {
		return err
	}
	return printDigests(out, digests)
}

// printDigests prints each image with its digest, in the order of their names.
func printDigests(out io.Writer, digests map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		if _, err := fmt.Fprintf(out, "%s@%s\n", name, digests[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkSums(folder string) error {
	want, err := os.ReadFile(filepath.Join(folder, sumsFile))
	if err != nil {
		return err
	}
	got, err := sumsOf(folder)
	if err == nil && got != string(want) {
		return fmt.Errorf("%s has other sums than the files in %s: sha256sum --check names them", sumsFile, folder)
	}
	return err
}

func digestsOf(images map[string]v1.ImageIndex) (map[string]string, error) {
	digests := map[string]string{}
	for name, index := range images {
		digest, err := index.Digest()
		if err != nil {
			return nil, err
		}
		digests[name] = digest.String()
	}
	return digests, nil
}

// checkImage reads each blob, and compares it with its digest.
func checkImage(index v1.ImageIndex) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	var found []string
	for _, listed := range manifest.Manifests {
		found = append(found, listed.Platform.Architecture)
		if err := checkPrograms(index, listed); err != nil {
			return err
		}
	}
	if !slices.Equal(found, architectures) {
		return fmt.Errorf("it is for %q, not for %q", found, architectures)
	}
	return validate.Index(index)
}

// checkPrograms checks that each program of an image was built for its architecture.
func checkPrograms(index v1.ImageIndex, listed v1.Descriptor) error {
	image, err := index.Image(listed.Digest)
	if err != nil {
		return err
	}
	files, err := filesOfImage(image)
	if err != nil {
		return err
	}
	for _, f := range files {
		built, err := buildinfo.Read(bytes.NewReader(f.content))
		if err != nil {
			continue // not a Go program
		}
		for _, setting := range built.Settings {
			if setting.Key == "GOARCH" && setting.Value != listed.Platform.Architecture {
				return fmt.Errorf("/%s of %s was built for %s", f.name, listed.Platform.Architecture, setting.Value)
			}
		}
	}
	return nil
}

// checkOffline checks that the archive for clusters without a network has each image of the release by its tag and its digest.
func checkOffline(offline map[string]v1.ImageIndex, digests map[string]string) error {
	found, err := digestsOf(offline)
	if err != nil {
		return err
	}
	for name, digest := range digests {
		for _, known := range []string{name, repository(name) + "@" + digest} {
			if found[known] != digest {
				return fmt.Errorf("the offline archive has %q as %s, not %s", found[known], known, digest)
			}
		}
	}
	return nil
}

// addChart checks that the chart names the operator's image by its digest, and adds the chart to the images of the release.
func addChart(folder string, digests map[string]string) error {
	charts, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(charts) != 1 {
		return errors.Join(err, fmt.Errorf("%s has the charts %q, and must have one", folder, charts))
	}
	chart, err := readChart(charts[0])
	if err != nil {
		return err
	}
	for name, digest := range digests {
		if repository(name) == chart.repository && digest == chart.digest {
			own, err := chart.image.Digest()
			digests[chart.name] = own.String()
			return err
		}
	}
	return fmt.Errorf("%s: its values name %s@%s, which is no image of the release", charts[0], chart.repository, chart.digest)
}

func repository(name string) string { return name[:strings.LastIndex(name, ":")] }

// referenceByDigest matches a reference by digest: its name, which may have a tag, and the digest.
var referenceByDigest = regexp.MustCompile(`([\w./:-]+)@(sha256:[0-9a-f]{64})`)

// checkReferences checks the files of a release, and those of its bundle, that name images of the release.
func checkReferences(folder string, own map[string]v1.ImageIndex, digests map[string]string) error {
	texts := map[string]string{}
	for _, name := range []string{"install.yaml", "operator.yaml", "catalog.yaml", "images.txt"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		texts[name] = string(content)
	}
	for name, index := range own {
		files, err := filesOfIndex(index)
		if err != nil {
			return err
		}
		for _, f := range files {
			if strings.HasSuffix(f.name, csvSuffix) || f.name == catalogFolder+"/mainstay-operator/catalog.yaml" {
				texts[name+", "+f.name] = string(f.content)
			}
		}
	}
	if len(texts) != 6 {
		return fmt.Errorf("only %q name images", slices.Sorted(maps.Keys(texts)))
	}
	for name, text := range texts {
		if err := checkText(text, digests); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkText checks that a text names an image of the release, and each of them with its digest.
func checkText(text string, digests map[string]string) error {
	named := 0
	for _, found := range referenceByDigest.FindAllStringSubmatch(text, -1) {
		for name, digest := range digests {
			if found[1] != name && found[1] != repository(name) {
				continue
			}
			if named++; found[2] != digest {
				return fmt.Errorf("it names %s, and that image is %s", found[0], digest)
			}
		}
	}
	if named == 0 {
		return errors.New("it names no image of the release by its digest")
	}
	for name := range digests {
		if _, err := pin(text, name, name); err == nil {
			return fmt.Errorf("it names %s without its digest", name)
		}
	}
	return nil
}
