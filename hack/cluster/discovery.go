package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// forgetDiscovery removes what kubectl remembers, for six hours, of the types at this cluster's address. Another cluster
// may have had that address before, with types that this one lacks: `kubectl get mainstay` would ask for them, and fail.
func forgetDiscovery() error {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil //nolint:nilerr // then kubectl has no cache either
	}
	cache := cmp.Or(os.Getenv("KUBECACHEDIR"), filepath.Join(home, ".kube", "cache"))
	if err := os.RemoveAll(discoveryCache(cache)); err != nil {
		return fmt.Errorf("removing kubectl's discovery cache: %w", err)
	}
	return nil
}

// discoveryCache is kubectl's folder for an address (computeDiscoverCacheDir in k8s.io/cli-runtime/pkg/genericclioptions).
func discoveryCache(cache string) string {
	host := strings.TrimPrefix(apiServer, "https://")
	return filepath.Join(cache, "discovery", strings.ReplaceAll(host, ":", "_"))
}
