package install

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestTheCopyIsWholeAndEverybodyMayRunIt(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	for range 2 { // an init container may run again
		if err := Self(program); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o755 {
		t.Errorf("its mode is %v", info.Mode())
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(program); err != nil || !bytes.Equal(got, self) {
		t.Errorf("it has %d bytes of %d, %v", len(got), len(self), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("%q is left", left)
	}
}

func TestAFolderThatIsMissingIsAnError(t *testing.T) {
	if err := Self(filepath.Join(t.TempDir(), "missing", "program")); err == nil {
		t.Error("a program was copied into no folder")
	}
}
