// Package olm checks what OLM is given, before OLM sees it: the bundle, the
// catalog, and what an upgrade from the last release would do.
package olm

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// tool runs a program of hack/tools and gives what it prints. One that fails is
// reported in its own words.
func tool(program string, args ...string) (string, error) {
	var said, complained bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &said, &complained
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%w: make bundle-check builds it", err)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(said.String()+complained.String()))
	}
	return said.String(), nil
}
