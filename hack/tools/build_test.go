package tools

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A target's output is read by others, such as `make -s version`: that a tool is built first must not be part of it.
func TestBuildPrintsNothingThatIsReadAsOutput(t *testing.T) {
	script, err := os.ReadFile("build")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, content := range map[string]string{
		"hack/tools/build":       string(script),
		"hack/tools/some/go.mod": "module some\n",
		"hack/tools/some/go.sum": "",
		"path/go":                "#!/bin/sh\nif [ \"$1\" = build ]; then echo built > \"$4/program\"; fi\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "bash", filepath.Join(root, "hack/tools/build"), "some")
	command.Env = append(os.Environ(), "PATH="+filepath.Join(root, "path")+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+root)
	var printed, complaints bytes.Buffer
	command.Stdout, command.Stderr = &printed, &complaints
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	if _, err := os.Stat(filepath.Join(root, ".bin/program")); err != nil {
		t.Error(err)
	}
	if printed.Len() > 0 || complaints.Len() == 0 {
		t.Errorf("stdout has %q, and stderr %q", printed.String(), complaints.String())
	}
}
