package store

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// Error is what a store has refused or failed to do.
type Error struct {
	// Action says what was tried, such as "writing n/b/item.etcd.data".
	Action string
	// Words are the store's own, bounded and on one line. A secret is never in them.
	Words string
	cause error
}

func (e *Error) Error() string { return e.Action + ": " + e.Words }

// Unwrap returns fs.ErrExist, fs.ErrNotExist or what else is known of the cause.
func (e *Error) Unwrap() error { return e.cause }

// wrapError describes an error of a store, and marks it if another attempt would meet it again. Secrets are taken out of the words, which
// may repeat what the store was sent.
func wrapError(action string, err error, secrets ...string) error {
	if _, alreadyWrapped := errors.AsType[*Error](err); err == nil || alreadyWrapped {
		return err
	}
	text := describe(err)
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "...")
		}
	}
	wrapped := &Error{Action: action, Words: untrusted.Sanitize(text), cause: err}
	if response, ok := errors.AsType[minio.ErrorResponse](err); ok {
		wrapped.cause = nil // its words may have a secret
		if response.Code == minio.NoSuchKey {
			wrapped.cause = fs.ErrNotExist
		}
	}
	if isPermanent(err) || backup.IsPermanent(err) {
		return backup.Permanent(wrapped)
	}
	return wrapped
}

// alreadyThere refuses to write an object again.
func alreadyThere(name string) error {
	return &Error{Action: "writing " + name, Words: "it is there already, and a backup is never overwritten", cause: fs.ErrExist}
}

// describe says what an error means to the user of the store.
func describe(err error) string {
	if response, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return response.Code + ": " + response.Error()
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err // without the URL, which says no more than the object's name
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Sprintf("the store did not answer in time (%v)", err)
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "the volume is full: enlarge it, or delete backups from it"
	case errors.Is(err, syscall.EDQUOT):
		return "the quota of the volume is used up: raise it, or delete backups from it"
	case errors.Is(err, syscall.EROFS):
		return "the volume is read-only"
	}
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return inner.Err.Error() // without the path, which Action has
	}
	return err.Error()
}

// permanentCodes are answers of S3 that only a human can fix
// (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html), and what versitygw says in place of InvalidAccessKeyId.
var permanentCodes = map[string]bool{
	"AccessDenied": true, "AccountProblem": true, "AllAccessDisabled": true, "AuthorizationHeaderMalformed": true,
	"EntityTooLarge": true, "InvalidAccessKeyId": true, "InvalidBucketName": true, "InvalidSecurity": true, "InvalidToken": true,
	"MethodNotAllowed": true, "NoSuchBucket": true, "NotSignedUp": true, "PermanentRedirect": true, "SignatureDoesNotMatch": true,
	"XAdminUserNotFound": true,
}

// isPermanent reports whether another attempt would fail in the same way, until a human changes something. A full volume is none: what
// fills it may be of others, and go.
func isPermanent(err error) bool {
	if response, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return permanentCodes[response.Code]
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") { // net/http has no type for it
		return true
	}
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}

// The limits of a connection to a store. A store may be slow; it must not stop.
const (
	connectTimeout  = 15 * time.Second
	progressTimeout = 120 * time.Second
	// cleanupTimeout bounds the removal of what was written, which a pod that is asked to stop still does: it has 30 s.
	cleanupTimeout = 15 * time.Second
)
