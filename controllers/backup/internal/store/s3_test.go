package store

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

var minioOptions = minio.PutObjectOptions{}

// folder makes one with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What a human must fix has the server's error message, and is permanent.
func TestWhatOnlyAHumanRepairs(t *testing.T) {
	server := s3Server(t)
	right := map[string]string{"accessKeyID": s3.AccessKeyID, "secretAccessKey": s3.SecretAccessKey}
	for name, c := range map[string]struct {
		edit   func(*commonv1.S3Store)
		secret map[string]string
		ca     string
		want   string
	}{
		"another secret key": {secret: map[string]string{"accessKeyID": s3.AccessKeyID, "secretAccessKey": "wrong-secret"},
			want: "SignatureDoesNotMatch: "},
		"another access key": {secret: map[string]string{"accessKeyID": "nobody", "secretAccessKey": s3.SecretAccessKey},
			want: "No user exists with the provided access key ID"},
		"no secret key":     {secret: map[string]string{"accessKeyID": s3.AccessKeyID}, want: "has no key secretAccessKey"},
		"no bucket":         {edit: func(s *commonv1.S3Store) { s.Bucket = "missing" }, want: "NoSuchBucket: "},
		"another authority": {ca: string(authority.New("other").PEM()), want: "certificate signed by unknown authority"},
		"no certificate":    {ca: "none", want: `store.s3.caSecretName: ca.crt of Secret "any": it has no certificate`},
		"plain HTTP": {edit: func(s *commonv1.S3Store) { s.Endpoint = plainServer(t) },
			want: "server gave HTTP response to HTTPS client"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, places := server.Store("human"), Places{CA: server.CADir}
			if c.edit != nil {
				c.edit(spec.S3)
			}
			if c.secret == nil {
				c.secret = right
			}
			places.Secret = folder(t, c.secret)
			if c.ca != "" {
				places.CA = folder(t, map[string]string{"ca.crt": c.ca})
			}
			s, err := Open(spec, places)
			for _, then := range []func() error{
				func() error { _, _, err := s.Get(t.Context(), "n/b/x"); return err },
				func() error { return s.Put(t.Context(), "n/b/x", bytes.NewReader([]byte("x"))) },
				func() error {
					for _, err := range s.List(t.Context(), "n/b") {
						return err
					}
					return nil
				},
			} {
				got := err
				if got == nil {
					got = then()
				}
				if got == nil || !backup.IsPermanent(got) || !strings.Contains(got.Error(), c.want) {
					t.Errorf("permanent %v: %v", backup.IsPermanent(got), got)
				}
				if got != nil && strings.Contains(got.Error(), "wrong-secret") {
					t.Errorf("the secret is reported: %v", got)
				}
			}
		})
	}
}

// A Secret may change while a backup is written.
func TestCredentialsAreReadAtEachUse(t *testing.T) {
	server := s3Server(t)
	dir := folder(t, map[string]string{"accessKeyID": s3.AccessKeyID, "secretAccessKey": "old"})
	s, err := Open(server.Store(filepath.Base(filepath.Dir(dir))), Places{Secret: dir, CA: server.CADir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "n/b/x", bytes.NewReader(nil)); !backup.IsPermanent(err) {
		t.Errorf("with the old key: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secretAccessKey"), []byte(s3.SecretAccessKey), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "n/b/x", bytes.NewReader(nil)); err != nil {
		t.Errorf("with the new key: %v", err)
	}
}
