package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// operandsFile has the operandList of a release, in the folder of this program.
const operandsFile = "hack/release/operands.yaml"

// operand is an image that objects run by default.
type operand struct {
	// Image has a registry and a tag, as in the operator's defaults.
	Image string `json:"image"`
	// Digest of all its architectures; empty if it is not known.
	Digest string `json:"digest"`
}

// pinned is the name with tag and digest, or without the latter if it is not known.
func (o operand) pinned() string {
	if o.Digest == "" {
		return o.Image
	}
	return o.Image + "@" + o.Digest
}

// operandList has each operand once.
type operandList []operand

func readOperands(file string) (operandList, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list operandList
	if err := yaml.UnmarshalStrict(content, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	seen := map[string]bool{}
	for _, o := range list {
		if o.Image == "" || seen[o.Image] || !isDigest(o.Digest) {
			return nil, fmt.Errorf("%s: %q with the digest %q: each image must be there once, and have an empty digest or sha256:…",
				file, o.Image, o.Digest)
		}
		seen[o.Image] = true
	}
	return list, nil
}

// write replaces the list in a file, and keeps the comment above it. If it is interrupted, the file has the former list.
func (o operandList) write(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var text strings.Builder
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		text.WriteString(line)
	}
	for _, each := range o {
		fmt.Fprintf(&text, "- image: %s\n  digest: %q\n", each.Image, each.Digest)
	}
	fresh := file + ".new"
	if err := os.WriteFile(fresh, []byte(text.String()), 0o644); err != nil { //nolint:gosec // for everybody to read
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := os.Rename(fresh, file); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	return nil
}

// covers returns an error unless each of the images is in the list.
func (o operandList) covers(images []string) error {
	for _, image := range images {
		if !slices.ContainsFunc(o, func(each operand) bool { return each.Image == image }) {
			return fmt.Errorf("%s has no %s, which the operator runs by default", operandsFile, image)
		}
	}
	return nil
}

// pin names each operand in a text by its digest, where that is known.
func (o operandList) pin(text string) string {
	for _, each := range o {
		if pinned, err := pin(text, each.Image, each.pinned()); err == nil {
			text = pinned
		}
	}
	return text
}

// areAllPinned reports whether the digest of each operand is known.
func (o operandList) areAllPinned() bool {
	return len(o) > 0 && !slices.ContainsFunc(o, func(each operand) bool { return each.Digest == "" })
}

// disconnected matches the annotation by which a bundle says whether it works on an OpenShift without a network.
var disconnected = regexp.MustCompile(`(?m)^( +features\.operators\.openshift\.io/disconnected: )"(?:true|false)"$`)

// claimDisconnected has a bundle with that annotation say "true" if each operand is named by its digest, and "false" otherwise:
// OpenShift finds copies of images by digests alone. A bundle without the annotation claims nothing.
func claimDisconnected(csv string, operands operandList) string {
	return disconnected.ReplaceAllString(csv, fmt.Sprintf(`${1}"%t"`, operands.areAllPinned()))
}
