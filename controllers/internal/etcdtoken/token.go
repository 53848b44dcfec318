// Package etcdtoken makes the tokens by which the operator and its runner are let in by an etcd whose signing key they have. They
// need no password, and no majority.
package etcdtoken

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

const (
	// Root is the user, and the role, that may do everything. etcd requires no login before it has both.
	Root = "root"
	// method is how tokens are signed: with one key for all who sign and check them.
	method = "HS256"
	// Life is for how long a token is accepted. A member whose clock is ahead of its signer's by more refuses the token as expired.
	Life = 10 * time.Minute
	// lastRevision of etcd's users is later than every real one: a token of an earlier one is refused.
	lastRevision = 1 << 53
)

// Argument has etcd sign its own tokens with the key in a file, and accept all that are signed with it. Its own live for ttl, a
// time.Duration as text: https://etcd.io/docs/v3.6/op-guide/authentication/rbac/.
func Argument(keyFile, ttl string) string {
	return "--auth-token=jwt,sign-method=" + method + ",priv-key=" + keyFile + ",ttl=" + ttl
}

// Signer logs in as root at a gRPC connection (credentials.PerRPCCredentials). It signs its tokens itself, as etcd does
// (server/auth/jwt.go).
type Signer struct {
	key   []byte
	clock func() time.Time
	// revision of etcd's users that the token is of. A read of keys accepts only the current one.
	revision atomic.Uint64
}

// New logs in by the key with which the members sign their tokens.
func New(key []byte, clock func() time.Time) *Signer {
	s := &Signer{key: key, clock: clock}
	s.revision.Store(lastRevision)
	return s
}

// PinTo has all tokens be of that revision of etcd's users, until undo is called.
func (s *Signer) PinTo(revision uint64) (undo func()) {
	s.revision.Store(revision)
	return func() { s.revision.Store(lastRevision) }
}

// GetRequestMetadata gives each request a token.
func (s *Signer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{rpctypes.TokenFieldNameGRPC: s.sign()}, nil
}

// RequireTransportSecurity reports whether a token is sent over TLS alone; without spec.tls passwords are in the clear, too.
func (*Signer) RequireTransportSecurity() bool { return false }

func (s *Signer) sign() string {
	encode := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"username":%q,"revision":%d,"exp":%d}`, Root, s.revision.Load(), s.clock().Add(Life).Unix())
	text := encode([]byte(`{"alg":"`+method+`","typ":"JWT"}`)) + "." + encode([]byte(claims))
	mac := hmac.New(sha256.New, s.key)
	_, _ = mac.Write([]byte(text)) // it returns no error
	return text + "." + encode(mac.Sum(nil))
}
