package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

func openTestVolume(t *testing.T, dir, path string) (Store, error) {
	t.Helper()
	return Open(commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "any", Path: path}}, Places{Volume: dir})
}

// Somebody who shares the volume may have put links there.
func TestLinksLeadNowhere(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "n"), 0o700), os.Symlink(outside, filepath.Join(dir, "n/b")),
		os.WriteFile(filepath.Join(outside, "x"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s, err := openTestVolume(t, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "n/b/y", bytes.NewReader(nil)); err == nil {
		t.Error("it was written outside")
	}
	if _, _, err := s.Get(t.Context(), "n/b/x"); err == nil {
		t.Error("it was read outside")
	}
	if err := s.Delete(t.Context(), "n/b/x"); err == nil {
		t.Error("it was deleted outside")
	}
	if _, err := openTestVolume(t, dir, "n/b"); err == nil {
		t.Error("the store was opened outside")
	}
	if entries, err := os.ReadDir(outside); len(entries) != 1 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestWhatIsNoFileIsNotRead(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		os.WriteFile(filepath.Join(dir, "file"), []byte("of another namespace"), 0o600), os.Symlink("file", filepath.Join(dir, "link")),
		os.Symlink("link", filepath.Join(dir, "links")), os.Symlink("pipe", filepath.Join(dir, "link-to-pipe"))); err != nil {
		t.Fatal(err)
	}
	s, err := openTestVolume(t, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "folder", "link", "links", "link-to-pipe"} {
		if _, _, err := s.Get(t.Context(), name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// An object that is being written by another is left to it.
func TestTwoDoNotWriteOneObject(t *testing.T) {
	dir := t.TempDir()
	s, err := openTestVolume(t, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, partial("x")), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "x", bytes.NewReader(nil)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, partial("x"))); string(content) != "half" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
}

func TestWhatAVolumeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		err       error
		want      string
		permanent bool
	}{
		"full":           {syscall.ENOSPC, "the volume is full", false},
		"quota":          {syscall.EDQUOT, "the quota of the volume is used up", false},
		"read-only":      {syscall.EROFS, "the volume is read-only", true},
		"another user's": {syscall.EACCES, "permission denied", true},
		"broken":         {syscall.EIO, "input/output error", false},
		"file in path":   {syscall.ENOTDIR, "not a directory", true},
	} {
		t.Run(name, func(t *testing.T) {
			err := wrapError("writing x", &fs.PathError{Op: "write", Path: ".x.partial", Err: c.err})
			if backup.IsPermanent(err) != c.permanent || !strings.Contains(err.Error(), "writing x: "+c.want) || !errors.Is(err, c.err) {
				t.Errorf("permanent %v: %v", backup.IsPermanent(err), err)
			}
		})
	}
}

// A store that is mounted read-only, as in a restore, has no folder before the first backup: that is reported as such.
func TestAFolderThatCannotBeMadeIsNotThere(t *testing.T) {
	if _, err := openTestVolume(t, "/proc", "nothing-of-that-name"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
