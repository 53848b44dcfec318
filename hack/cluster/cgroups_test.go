package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPodsWeighAsMuchAsEightThreads(t *testing.T) {
	for file, want := range map[string]string{"cpu.shares": "8192", "cpu.weight": "800"} {
		dir := t.TempDir()
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
		preferPods(dir)
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is %q, not %s: %v", file, got, want, err)
		}
	}
}

func TestACgroupWithoutWeightsIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	preferPods(dir)
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%v were made: %v", files, err)
	}
}
