package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

const (
	// amazon is the endpoint where none is named; the client adds the region.
	amazon        = "https://s3.amazonaws.com"
	defaultRegion = "us-east-1"
	// maxTries of one request that the server did not accept, such as with 503.
	maxTries = 3
)

// s3Store is a bucket, and the names in it that start with a prefix.
type s3Store struct {
	client         *minio.Core
	bucket, prefix string
	keys           keys
}

func openS3(spec commonv1.S3Store, places Places, progress time.Duration) (*s3Store, error) {
	endpoint, lookup := spec.Endpoint, minio.BucketLookupPath
	if endpoint == "" {
		endpoint, lookup = amazon, minio.BucketLookupDNS
	}
	if spec.PathStyle != nil {
		lookup = map[bool]minio.BucketLookupType{true: minio.BucketLookupPath, false: minio.BucketLookupDNS}[*spec.PathStyle]
	}
	address, err := url.Parse(endpoint)
	if err != nil {
		return nil, backup.Permanent(fmt.Errorf("store.s3.endpoint is not a URL: %w", err))
	}
	trusted, err := authorities(spec, places.CA)
	if err != nil {
		return nil, err
	}
	region := spec.Region
	if region == "" {
		region = defaultRegion
	}
	login := keys{name: spec.SecretName, dir: places.Secret}
	client, err := minio.NewCore(address.Host, &minio.Options{
		Creds: credentials.New(login), Secure: address.Scheme == "https", Region: region, BucketLookup: lookup,
		Transport: newTransport(trusted, progress), MaxRetries: maxTries,
	})
	if err != nil {
		return nil, backup.Permanent(fmt.Errorf("store.s3: %w", err))
	}
	return &s3Store{client: client, bucket: spec.Bucket, prefix: spec.Prefix, keys: login}, nil
}

// key is the name in the bucket.
func (s *s3Store) key(name string) string { return path.Join(s.prefix, name) }

func (s *s3Store) wrapError(action, name string, err error) error {
	if err == nil {
		return nil
	}
	return wrapError(action+" "+name+" in bucket "+s.bucket, err, s.keys.secrets()...)
}

func (s *s3Store) Get(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if err := checkName(name); err != nil {
		return nil, 0, err
	}
	content, info, _, err := s.client.GetObject(ctx, s.bucket, s.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, 0, s.wrapError("reading", name, err)
	}
	return &s3Content{content: content, store: s, name: name}, info.Size, nil
}

// s3Content wraps errors that occur while an object is read.
type s3Content struct {
	content io.ReadCloser
	store   *s3Store
	name    string
}

func (s *s3Content) Read(b []byte) (int, error) {
	n, err := s.content.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.store.wrapError("reading", s.name, err)
	}
	return n, err
}

func (s *s3Content) Close() error { return s.content.Close() }

func (s *s3Store) Stat(ctx context.Context, name string) (int64, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	info, err := s.client.StatObject(ctx, s.bucket, s.key(name), minio.StatObjectOptions{})
	if err != nil { // an answer to HEAD has no words, and does not distinguish a missing bucket from a missing object
		content, _, _, reason := s.client.GetObject(ctx, s.bucket, s.key(name), minio.GetObjectOptions{})
		if reason == nil {
			reason = errors.Join(err, content.Close())
		}
		err = reason
	}
	return info.Size, s.wrapError("looking for", name, err)
}

func (s *s3Store) List(ctx context.Context, folder string) iter.Seq2[backup.Object, error] {
	return bounded(func(yield func(backup.Object, error) bool) {
		ctx, done := context.WithCancel(ctx)
		defer done()
		prefix := s.key(folder) + "/"
		for object := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
			if object.Err != nil {
				yield(backup.Object{}, s.wrapError("listing", folder, object.Err))
				return
			}
			name, within := strings.CutPrefix(object.Key, prefix)
			if !within || name == "" || strings.Contains(name, "/") { // a folder
				name = ""
			}
			if !yield(backup.Object{Name: name, Size: object.Size, Modified: object.LastModified}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil { // the client says nothing then
			yield(backup.Object{}, s.wrapError("listing", folder, err))
		}
	}, folder)
}

func (s *s3Store) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	err := s.wrapError("deleting", name, s.client.RemoveObject(ctx, s.bucket, s.key(name), minio.RemoveObjectOptions{}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// maxUploads bounds the unfinished uploads of one object that Abort takes away.
const maxUploads = 100

func (s *s3Store) Abort(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	key := s.key(name)
	found, err := s.client.ListMultipartUploads(ctx, s.bucket, key, "", "", "", maxUploads)
	if err != nil {
		return s.wrapError("looking for unfinished uploads of", name, err)
	}
	for _, upload := range found.Uploads {
		if upload.Key != key { // another name that starts with this one
			continue
		}
		err := s.client.AbortMultipartUpload(ctx, s.bucket, key, upload.UploadID)
		if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchUpload {
			return s.wrapError("aborting an unfinished upload of", name, err)
		}
	}
	return nil
}
