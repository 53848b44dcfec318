package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

const source = "https://github.com/mainstay-operator/mainstay-operator"

// about is what all images of a release say about themselves.
type about struct {
	// repository of the operator's image; those of bundle and catalog have a suffix.
	repository, tag string
	version         string
	// revision is the commit, and created its date: the same commit gives the same bytes.
	revision string
	created  time.Time
}

func newAbout(image, version, revision string, epoch int64) (about, error) {
	if _, err := name.NewTag(image, name.StrictValidation); err != nil {
		return about{}, fmt.Errorf("--image must be a registry, a name and a tag: %w", err)
	}
	if version == "" || revision == "" || epoch <= 0 {
		return about{}, fmt.Errorf("--version %q, --revision %q and --epoch %d must all be set", version, revision, epoch)
	}
	colon := strings.LastIndex(image, ":")
	return about{repository: image[:colon], tag: image[colon+1:], version: version, revision: revision,
		created: time.Unix(epoch, 0).UTC()}, nil
}

// operator is the name of the operator's image.
func (a about) operator() string { return a.repository + ":" + a.tag }

// named is the name of another image of the release.
func (a about) named(suffix string) string { return a.repository + "-" + suffix + ":v" + a.version }

// labels are those of the OCI image specification.
func (a about) labels(title, description string) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": title, prefix + "description": description, prefix + "source": source, prefix + "licenses": "Apache-2.0",
		prefix + "version": "v" + a.version, prefix + "revision": a.revision, prefix + "created": a.created.Format(time.RFC3339),
	}
}
