package main

import (
	"os"
	"strings"
	"testing"
)

func TestWhichStateGetsItsOwnDisk(t *testing.T) {
	l := layout{Root: t.TempDir()}
	for _, c := range []struct{ asked, want string }{{"", ""}, {"memory", `CLUSTER_STATE is "memory"`}} {
		t.Setenv("CLUSTER_STATE", c.asked)
		err := mountVolatile(t.Context(), l)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("CLUSTER_STATE=%q: %v", c.asked, err)
		}
	}
	t.Setenv("CLUSTER_STATE", volatile)
	if err := os.MkdirAll(l.pki(""), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.pki("ca.crt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mountVolatile(t.Context(), l); err != nil {
		t.Errorf("a cluster that is there: %v", err)
	}
	if entries, err := os.ReadDir(l.state()); err != nil || len(entries) != 1 {
		t.Errorf("its state has changed: %v, %v", entries, err)
	}
}
