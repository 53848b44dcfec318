package runner

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
)

// sum counts and digests what is written to it.
type sum struct {
	size int64
	hash hash.Hash
}

func newSum() *sum { return &sum{hash: sha256.New()} }

func (s *sum) Write(b []byte) (int, error) {
	s.size += int64(len(b))
	return s.hash.Write(b)
}

// hex is the SHA-256 in hexadecimal.
func (s *sum) hex() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// compressed gives what is read as it is stored, and the sum of that, which is complete at the end. A caller that does not read to the end
// must close it.
func compressed(from io.Reader, by commonv1.BackupCompression) (io.ReadCloser, *sum) {
	stored := newSum()
	if by != commonv1.CompressGzip {
		return io.NopCloser(io.TeeReader(from, stored)), stored
	}
	reader, writer := io.Pipe()
	go func() {
		zip, _ := gzip.NewWriterLevel(io.MultiWriter(stored, writer), gzip.BestSpeed) // the level is a valid one
		_, err := io.Copy(zip, from)
		if err == nil {
			err = zip.Close()
		}
		_ = writer.CloseWithError(err) // it returns nil
	}()
	return reader, stored
}

// decompressed gives what is read as it was before it was stored.
func decompressed(from io.Reader, by string) (io.Reader, error) {
	if commonv1.BackupCompression(by) != commonv1.CompressGzip {
		return from, nil
	}
	return gzip.NewReader(from)
}

// untilDone ends with its context.
type untilDone struct {
	ctx  context.Context
	from io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(b)
}

// writeFile makes a new file on the scratch volume, in place of one of that name, by what write puts into it.
func writeFile(room scratch.Room, name string, write func(*scratch.File) error) error {
	if err := os.RemoveAll(name); err != nil {
		return fmt.Errorf("clearing the scratch volume: %w", err)
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // another image's user reads it
	if err != nil {
		return fmt.Errorf("writing to the scratch volume: %w", err)
	}
	return errors.Join(write(room.NewFile(file)), file.Close())
}
