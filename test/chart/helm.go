package chart

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Helm runs the Helm that make builds below root. An error has what Helm printed.
func Helm(ctx context.Context, root string, args ...string) error {
	said, err := exec.CommandContext(ctx, filepath.Join(root, ".bin", "helm"), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(said))
	}
	return nil
}
