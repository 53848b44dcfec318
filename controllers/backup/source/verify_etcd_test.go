package source

import (
	"os"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// refuseBroken breaks a snapshot in every way that must be found.
func refuseBroken(t *testing.T, path string, meta Meta) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)/2] ^= 1
	if err := CheckEtcd(path, manifestOf(meta)); err != nil {
		t.Error(err)
	}
	later := manifestOf(meta)
	later.Revision++
	for _, c := range []struct {
		name     string
		snapshot []byte
		manifest backup.Manifest
		want     string
	}{
		{"cut off", whole[:len(whole)/2], manifestOf(meta), "restoring the snapshot: "},
		{"damaged", damaged, manifestOf(meta), "restoring the snapshot: "},
		{"empty", nil, manifestOf(meta), "restoring the snapshot: "},
		{"something else", []byte("<!DOCTYPE html>"), manifestOf(meta), "restoring the snapshot: "},
		{"of an earlier revision than the manifest says", whole, later, "its manifest says"},
	} {
		if err := VerifyEtcd(t.Context(), writeDump(t, c.snapshot), shortDir(t), c.manifest); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := CheckEtcd(writeDump(t, c.snapshot), c.manifest); err == nil {
			t.Errorf("a snapshot is accepted that is %s", c.name)
		}
	}
}
