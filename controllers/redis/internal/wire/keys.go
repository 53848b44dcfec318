package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// commandError is a server's refusal of a command: its first word, and its whole text where
// that repeats nothing secret.
type commandError struct{ code, text string }

func (c commandError) Error() string { return "the server says " + cmp.Or(c.text, c.code) }

func newCommandError(reply redis.Error, words string) commandError {
	code, _, _ := strings.Cut(reply.Error(), " ")
	return commandError{untrusted.Sanitize(code), untrusted.Sanitize(words)}
}

// IsRefusal reports whether the server would refuse the command again: the operator lacks the
// right, or the server does not understand. A server that is busy says something else.
func IsRefusal(err error) bool {
	var r commandError
	return errors.As(err, &r) && (r.code == "NOPERM" || r.code == "ERR")
}

// RefusalText returns the words of the server that refused, or "" where they may repeat a secret.
func RefusalText(err error) string {
	var r commandError
	_ = errors.As(err, &r)
	return r.text
}

// SetPasswords makes the server accept exactly the passwords of these SHA-256 digests
// for a user. Clients that are logged in stay so, by whatever password. Neither
// the passwords nor their digests are in the error.
func (s *Server) SetPasswords(ctx context.Context, user string, digests ...string) error {
	words := []any{"ACL", "SETUSER", user, "resetpass"}
	for _, digest := range digests {
		words = append(words, "#"+digest)
	}
	if err := s.client.Do(ctx, words...).Err(); err != nil {
		return fmt.Errorf("setting the passwords of user %s: %w", user, withoutSecrets(err))
	}
	return nil
}

// DefineUser makes a user of these passwords, by their SHA-256 digests, with exactly these rights. Neither a password nor its
// digest is in the error.
func (s *Server) DefineUser(ctx context.Context, user string, digests []string, rights ...string) error {
	words := []any{"ACL", "SETUSER", user, "reset", "on"}
	for _, digest := range digests {
		words = append(words, "#"+digest)
	}
	for _, right := range rights {
		words = append(words, right)
	}
	if err := s.client.Do(ctx, words...).Err(); err != nil {
		return fmt.Errorf("defining user %s: %w", user, withoutSecrets(err))
	}
	return nil
}

// KillUser closes all connections of a user.
func (s *Server) KillUser(ctx context.Context, user string) error {
	return s.do(ctx, "CLIENT", "KILL", "USER", user)
}

// withoutSecrets returns an error without the server's words, which may repeat what it was sent.
func withoutSecrets(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		return newCommandError(reply, "")
	}
	return shorten(err)
}

// shorten returns an error whose text is no longer than people can read: a server may word its
// refusal as it likes.
func shorten(err error) error {
	if err == nil {
		return nil
	}
	return shortError{err}
}

type shortError struct{ error }

func (s shortError) Error() string { return untrusted.Sanitize(s.error.Error()) }

func (s shortError) Unwrap() error { return s.error }
