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

	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

// loadImage builds the operator and puts it where the local cluster finds it.
// The tag carries a digest of the content: another binary rolls the Deployment,
// the same one does not.
func (d *demo) loadImage(ctx context.Context, image string) (string, error) {
	start := time.Now()
	pack := []string{"run", "-C", "hack/cluster", ".", "image"}
	var contents []byte
	for _, program := range olm.Programs {
		folder := filepath.Join(d.root, ".bin")
		binary := filepath.Join(folder, program.Name)
		if _, err := d.output(ctx, "", "env", program.EnvArgs(folder)...); err != nil {
			return "", err
		}
		content, err := os.ReadFile(binary)
		if err != nil {
			return "", err
		}
		contents, pack = append(contents, content...), append(pack, "--binary", binary)
	}
	image, err := tagged(image, contents)
	if err != nil {
		return "", err
	}
	if _, err := d.output(ctx, "", "go", append(pack, "--name", image)...); err != nil {
		return "", err
	}
	done(start, "image %s", image)
	return image, nil
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
