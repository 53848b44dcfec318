package scratch

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const secret = "the store's secret key"

// If Open waited for the other end of a pipe, the test would end by go test's own timeout.
func TestWhatIsNotTheRunnersFileIsRefused(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, at string) error{
		"a link to a Secret": func(t *testing.T, at string) error {
			key := filepath.Join(t.TempDir(), "secretAccessKey")
			return errors.Join(os.WriteFile(key, []byte(secret), 0o600), os.Symlink(key, at))
		},
		"a link to a pipe": func(t *testing.T, at string) error {
			pipe := filepath.Join(t.TempDir(), "pipe")
			return errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(pipe, at))
		},
		"a link to itself": func(_ *testing.T, at string) error { return os.Symlink(at, at) },
		"a named pipe":     func(_ *testing.T, at string) error { return syscall.Mkfifo(at, 0o600) },
		"a folder":         func(_ *testing.T, at string) error { return os.Mkdir(at, 0o700) },
		"a device":         func(_ *testing.T, at string) error { return os.Symlink("/dev/zero", at) },
		"a socket": func(t *testing.T, at string) error {
			listener, err := net.Listen("unix", at)
			t.Cleanup(func() { _ = listener.Close() })
			return err
		},
		"a file that is too large": func(_ *testing.T, at string) error {
			return os.WriteFile(at, []byte(strings.Repeat(secret, 10)), 0o600)
		},
		"a file that is huge and sparse": func(_ *testing.T, at string) error {
			return errors.Join(os.WriteFile(at, nil, 0o600), os.Truncate(at, 1<<40))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "") // t.TempDir is too long for a socket's name
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			at := filepath.Join(dir, "verified")
			if err := put(t, at); err != nil {
				t.Fatal(err)
			}
			content, err := Read(at, 100)
			if !errors.Is(err, ErrRefused) || len(content) > 0 || !strings.Contains(err.Error(), "verified: ") ||
				strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), dir) {
				t.Errorf("%q, %v", content, err)
			}
		})
	}
}

func TestAFileIsRead(t *testing.T) {
	at := filepath.Join(t.TempDir(), "data")
	if _, err := Read(at, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of one that is not there: %v", err)
	}
	for _, content := range []string{"", "0123456789"} {
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(at, 10); string(got) != content || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}
