package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// commandError is what a server says to a command that it will not run: its first word,
// and all of it where that repeats nothing secret.
type commandError struct{ code, text string }

func (r commandError) Error() string { return "the server says " + cmp.Or(r.text, r.code) }

func newCommandError(reply redis.Error, words string) commandError {
	code, _, _ := strings.Cut(reply.Error(), " ")
	return commandError{untrusted.Sanitize(code), untrusted.Sanitize(words)}
}

// IsRefusal is true for the error of a server that would refuse again: it lacks
// the right or does not understand. One that is busy says something else.
func IsRefusal(err error) bool {
	var r commandError
	return errors.As(err, &r) && (r.code == "NOPERM" || r.code == "ERR")
}

// RefusalText of the server that refused, where they may be told.
func RefusalText(err error) string {
	var r commandError
	_ = errors.As(err, &r)
	return r.text
}

// SetPasswords makes the server accept exactly the passwords of these SHA-256 digests
// for a user. Who is logged in stays so, by whatever password it was. Neither
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

// withoutSecrets is an error without the server's words, which may repeat what it was told.
func withoutSecrets(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		return newCommandError(reply, "")
	}
	return shorten(err)
}

// shorten is an error of which no more is told than people can read: a server may word its
// refusal as it likes.
func shorten(err error) error {
	if err == nil {
		return nil
	}
	return shortError{err}
}

type shortError struct{ error }

func (b shortError) Error() string { return untrusted.Sanitize(b.error.Error()) }

func (b shortError) Unwrap() error { return b.error }
