package store

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // S3 checks by it that a part has arrived as it was sent
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/minio/minio-go/v7"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

const (
	// partSize of an upload in bytes. S3 accepts no smaller ones than 5 MiB; a part is held in memory, to be sent again.
	partSize = 8 << 20
	// maxParts that S3 accepts of an object (https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html).
	maxParts = 10_000
)

func (s *s3Store) Put(ctx context.Context, name string, content io.Reader) error {
	switch _, err := s.Stat(ctx, name); {
	case err == nil:
		return alreadyThere(name)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	buffer := make([]byte, partSize)
	part, last, err := fill(content, buffer)
	switch {
	case err != nil:
		return err
	case last:
		md5, sha256 := sums(part)
		_, err := s.client.PutObject(ctx, s.bucket, s.key(name), bytes.NewReader(part), int64(len(part)), md5, sha256,
			minio.PutObjectOptions{DisableContentSha256: true})
		return s.wrapError("writing", name, err)
	}
	u := &upload{s3Store: s, name: name, buffer: buffer}
	return u.run(ctx, part, content)
}

// fill reads from content until the buffer is full, or until its end: then that part is the last one.
func fill(content io.Reader, buffer []byte) (part []byte, last bool, err error) {
	n := 0
	for n < len(buffer) {
		read, err := content.Read(buffer[n:])
		n += read
		if errors.Is(err, io.EOF) {
			return buffer[:n], true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return buffer, false, nil
}

// sums are what S3 compares a part with: of its content, and of what is signed.
func sums(part []byte) (md5Base64, sha256Hex string) {
	m, s := md5.Sum(part), sha256.Sum256(part) //nolint:gosec // no secret
	return base64.StdEncoding.EncodeToString(m[:]), hex.EncodeToString(s[:])
}

// upload is an object that is sent in parts.
type upload struct {
	*s3Store
	name   string
	id     string
	buffer []byte
	sent   []minio.CompletePart
	size   int64
}

// run sends the first part and the rest of the content. An upload that is not completed is aborted, or the bucket would keep its
// parts forever, and bill for them.
func (u *upload) run(ctx context.Context, first []byte, rest io.Reader) (err error) {
	u.id, err = u.client.NewMultipartUpload(ctx, u.bucket, u.key(u.name), minio.PutObjectOptions{})
	if err != nil {
		return u.wrapError("writing", u.name, err)
	}
	defer func() {
		if err == nil {
			return
		}
		cleanup, done := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer done()
		aborted := u.client.AbortMultipartUpload(cleanup, u.bucket, u.key(u.name), u.id)
		err = errors.Join(err, u.wrapError("aborting the upload of", u.name, aborted))
	}()
	for part, last := first, false; ; {
		if err := u.send(ctx, part); err != nil {
			return err
		}
		if last {
			break
		}
		if part, last, err = fill(rest, u.buffer); err != nil {
			return err
		}
		if last && len(part) == 0 {
			break
		}
	}
	return u.complete(ctx)
}

func (u *upload) send(ctx context.Context, part []byte) error {
	number := len(u.sent) + 1
	if number > maxParts {
		return backup.Permanent(fmt.Errorf("the backup has more than %d MiB, the most that it may have in a bucket", maxParts*partSize>>20))
	}
	md5, sha256 := sums(part)
	sent, err := u.client.PutObjectPart(ctx, u.bucket, u.key(u.name), u.id, number, bytes.NewReader(part), int64(len(part)),
		minio.PutObjectPartOptions{Md5Base64: md5, Sha256Hex: sha256, DisableContentSha256: true})
	if err != nil {
		return u.wrapError("writing", u.name, err)
	}
	u.sent = append(u.sent, minio.CompletePart{PartNumber: number, ETag: sent.ETag})
	u.size += int64(len(part))
	return nil
}

// complete makes an object of the parts. If its answer is lost, the second try finds no upload any more, but the object.
func (u *upload) complete(ctx context.Context) error {
	_, err := u.client.CompleteMultipartUpload(ctx, u.bucket, u.key(u.name), u.id, u.sent, minio.PutObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchUpload {
		if size, missing := u.Stat(ctx, u.name); missing == nil && size == u.size {
			return nil
		}
	}
	return u.wrapError("writing", u.name, err)
}
