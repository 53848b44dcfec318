package store

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

// started is the S3 server that all tests share.
var started = sync.OnceValues(func() (*s3.Server, error) { return s3.Start("../../../../.bin/versitygw") })

func TestMain(m *testing.M) {
	code := m.Run()
	if server, err := started(); err == nil {
		server.Stop()
	}
	os.Exit(code)
}

// kept is a store with nothing in it, and what a test sees of it from outside.
type kept struct {
	Store
	// leftovers are what unfinished writes have left.
	leftovers func(*testing.T) []string
	// start writes an object halfway, as if killed then.
	start func(t *testing.T, name string)
}

// eachStore runs a test with a store of each kind.
func eachStore(t *testing.T, test func(*testing.T, kept)) {
	t.Run("S3", func(t *testing.T) { test(t, onS3(t)) })
	t.Run("Volume", func(t *testing.T) { test(t, onVolume(t)) })
}

func s3Server(t *testing.T) *s3.Server {
	t.Helper()
	server, err := started()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func onS3(t *testing.T) kept {
	t.Helper()
	server := s3Server(t)
	prefix := filepath.Base(t.TempDir()) + "/" + filepath.Base(filepath.Dir(t.TempDir()))
	opened, err := Open(server.Store(prefix), Places{Secret: server.SecretDir, CA: server.CADir})
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*s3Store)
	return kept{Store: s,
		leftovers: func(t *testing.T) (names []string) {
			found, err := s.client.ListMultipartUploads(t.Context(), s3.Bucket, prefix, "", "", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, upload := range found.Uploads {
				names = append(names, upload.Key)
			}
			return names
		},
		start: func(t *testing.T, name string) {
			if _, err := s.client.NewMultipartUpload(t.Context(), s3.Bucket, s.key(name), minioOptions); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func onVolume(t *testing.T) kept {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "any", Path: "a/b"}}, Places{Volume: dir})
	if err != nil {
		t.Fatal(err)
	}
	return kept{Store: s,
		leftovers: func(t *testing.T) (names []string) {
			err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if entry != nil && entry.Type().IsRegular() && path == partial(path) {
					names = append(names, path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return names
		},
		start: func(t *testing.T, name string) {
			file := filepath.Join(dir, "a/b", partial(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("half"), 0o600)); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// noise is content that cannot be compressed.
func noise(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	return content
}
