package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

// A cluster of an older Kubernetes has its own kubectl and API server; versitygw has no version of Kubernetes.
func TestProgramsAreOfTheClustersVersion(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{".bin", filepath.Join(".cluster", "bin")} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ofVersion := filepath.Join(root, ".cluster", "bin", "kubectl")
	if err := os.WriteFile(ofVersion, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]string{"kubectl": ofVersion, "versitygw": filepath.Join(root, ".bin", "versitygw")} {
		if got := built(root, program); got != want {
			t.Errorf("%s is %s, not %s", program, got, want)
		}
	}
}
