package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// secret is in a file that finish can read, and the server's image cannot.
const secret = "the store's secret key"

// replacements are what the program of another image may put in the place of a file.
var replacements = map[string]func(t *testing.T, at string) error{
	"a link to a Secret": func(t *testing.T, at string) error {
		key := filepath.Join(t.TempDir(), "secretAccessKey")
		return errors.Join(os.WriteFile(key, []byte(secret), 0o600), os.Symlink(key, at))
	},
	"a named pipe": func(_ *testing.T, at string) error { return syscall.Mkfifo(at, 0o600) },
	"a folder":     func(_ *testing.T, at string) error { return os.Mkdir(at, 0o700) },
	"a file that is too large": func(_ *testing.T, at string) error {
		return os.WriteFile(at, bytes.Repeat([]byte(secret), 10_000), 0o600)
	},
}

// The server's image is the user's: it writes to the scratch volume before finish, which has the store's Secret, runs.
func TestFinishReadsNothingThatTheServersImageCouldWrite(t *testing.T) {
	for _, file := range []string{"verified", "data", "manifest.json", "dump", "verify"} {
		for name, put := range replacements {
			t.Run(file+" is "+name, func(t *testing.T) {
				p := newPod(t)
				p.succeed(p.task(20), backup.CommandBackup, backup.CommandFetch, backup.CommandVerify)
				at := filepath.Join(p.Scratch, file)
				if err := errors.Join(os.RemoveAll(at), put(t, at)); err != nil {
					t.Fatal(err)
				}
				result := p.run(backup.CommandFinish, p.task(20))
				if text, err := json.Marshal(result); err != nil || strings.Contains(string(text), secret) {
					t.Errorf("%s, %v", text, err)
				}
				if result.Error != "" || !result.Item.Verified {
					t.Errorf("the backup is verified, whatever is on the scratch volume: %+v", result)
				}
			})
		}
	}
}

func TestAFetchedFileThatWasReplacedIsRefused(t *testing.T) {
	for _, file := range []string{"data", "manifest.json"} {
		for name, put := range replacements {
			t.Run(file+" is "+name, func(t *testing.T) {
				p := newPod(t)
				p.succeed(p.task(20), backup.CommandBackup, backup.CommandFetch)
				at := filepath.Join(p.Scratch, file)
				if err := errors.Join(os.RemoveAll(at), put(t, at)); err != nil {
					t.Fatal(err)
				}
				result := p.run(backup.CommandVerify, p.task(20))
				if !strings.Contains(result.Error, "reading what was fetched: open "+file) || strings.Contains(result.Error, secret) {
					t.Errorf("%+v", result)
				}
			})
		}
	}
}

// What another image has written there is not repeated, whatever it is.
func TestAnInvalidManifestIsNotRepeated(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON":           secret,
		"JSON of a string":  `"` + secret + `"`,
		"an item's name":    `{"item":"` + secret + `"}`,
		"a time in a field": `{"time":"` + secret + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.succeed(p.task(20), backup.CommandBackup, backup.CommandFetch)
			if err := os.WriteFile(filepath.Join(p.Scratch, "manifest.json"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			result := p.run(backup.CommandVerify, p.task(20))
			if !strings.Contains(result.Error, "is not a manifest") || strings.Contains(result.Error, secret) {
				t.Errorf("%+v", result)
			}
		})
	}
}

// Nothing that was there before is written through: neither by the runner's own files, nor by those of a server.
func TestAFileIsWrittenThroughNoLink(t *testing.T) {
	p := newPod(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"data", "manifest.json", "dump"} {
		if err := os.Symlink(outside, filepath.Join(p.Scratch, file)); err != nil {
			t.Fatal(err)
		}
	}
	p.succeed(p.task(20), all...)
	if content, err := os.ReadFile(outside); string(content) != "untouched" || err != nil {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}

// Data of the right size is not yet the data that was fetched.
func TestFetchedDataThatWasReplacedIsNotVerified(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(20), backup.CommandBackup, backup.CommandFetch)
	data := filepath.Join(p.Scratch, "data")
	content, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(data, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if result := p.run(backup.CommandVerify, p.task(20)); !strings.Contains(result.Error, "the fetched data has the SHA-256 ") ||
		result.Item != nil {
		t.Errorf("%+v", result)
	}
}
