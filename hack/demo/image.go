package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// loadImage builds the operator and puts it where the local cluster finds it.
// The tag carries a digest of the content: another binary rolls the Deployment,
// the same one does not.
func (d *demo) loadImage(ctx context.Context, image string) (string, error) {
	began := time.Now()
	content, err := d.buildManager(ctx)
	if err != nil {
		return "", err
	}
	if image, err = tagged(image, content); err != nil {
		return "", err
	}
	if err := d.loadManager(ctx, image); err != nil {
		return "", err
	}
	done(began, "image %s", image)
	return image, nil
}

// packManager makes the image under the very name that a bundle gives it.
func (d *demo) packManager(ctx context.Context, image string) error {
	if _, err := d.buildManager(ctx); err != nil {
		return err
	}
	return d.loadManager(ctx, image)
}

func (d *demo) managerBinary() string { return filepath.Join(d.root, ".bin", "manager") }

func (d *demo) buildManager(ctx context.Context) ([]byte, error) {
	// Without the commit in it, the same source makes the same binary.
	if _, err := d.output(ctx, "", "env", "CGO_ENABLED=0",
		"go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", d.managerBinary(), "."); err != nil {
		return nil, err
	}
	return os.ReadFile(d.managerBinary())
}

func (d *demo) loadManager(ctx context.Context, image string) error {
	_, err := d.output(ctx, "", "go", "run", "./hack/cluster", "image", "--name", image, "--binary", d.managerBinary())
	return err
}

// tagged appends a digest of the content to the image's tag.
func tagged(image string, content []byte) (string, error) {
	if strings.Contains(image, "@") {
		return "", fmt.Errorf("IMG is %s: the local cluster builds the image and needs a tag, not a digest", image)
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])[:12]
	if strings.Contains(image[strings.LastIndex(image, "/")+1:], ":") {
		return image + "-" + digest, nil
	}
	return image + ":" + digest, nil
}
