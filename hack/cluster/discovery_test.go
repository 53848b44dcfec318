package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWhatKubectlRemembersOfAnotherClusterIsForgotten(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("KUBECACHEDIR", cache)
	ours, others := filepath.Join(cache, "discovery", "10.88.0.1_6443", "apps"), filepath.Join(cache, "discovery", "10.0.0.1_6443")
	if err := errors.Join(os.MkdirAll(ours, 0o700), os.MkdirAll(others, 0o700), forgetDiscovery()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ours); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Stat(others); err != nil {
		t.Errorf("another cluster's is gone: %v", err)
	}
}
