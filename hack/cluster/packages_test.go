package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAServiceThatComesWithAPackageIsEnded(t *testing.T) {
	const aptGet = "apt-get install --yes --quiet --no-install-recommends --option=DPkg::Lock::Timeout=120 "
	for name, row := range map[string]struct {
		packages []string
		systemd  bool
		ran      string
	}{
		"containerd under systemd": {
			[]string{"runc", "containerd"}, true, aptGet + "runc containerd\nsystemctl disable --now --quiet containerd.service\n",
		},
		"containerd without systemd": {[]string{"containerd"}, false, aptGet + "containerd\n"},
		"containerd was there":       {[]string{"runc"}, true, aptGet + "runc\n"},
	} {
		programs := t.TempDir()
		ran := filepath.Join(programs, "ran")
		for _, program := range []string{"apt-get", "systemctl"} {
			script := "#!/bin/sh\necho " + program + " \"$@\" >>" + ran + "\n"
			if err := os.WriteFile(filepath.Join(programs, program), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", programs)
		if err := install(t.Context(), row.packages, row.systemd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(ran); err != nil || string(got) != row.ran {
			t.Errorf("%s: %q: %v", name, got, err)
		}
	}
}
