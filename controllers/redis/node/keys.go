package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// refused is what a server says to a command that it will not run, by its first
// word: the rest may repeat what it was given.
type refused struct{ code string }

func (r refused) Error() string { return "the server says " + r.code }

// Refusal is true for the error of a server that would refuse again: it lacks
// the right or does not understand. One that is busy says something else.
func Refusal(err error) bool {
	var r refused
	return errors.As(err, &r) && (r.code == "NOPERM" || r.code == "ERR")
}

// Accept makes the server accept exactly the passwords of these SHA-256 digests
// for a user. Who is logged in stays so, by whatever password it was. Neither
// the passwords nor their digests are in the error.
func (s *Server) Accept(ctx context.Context, user string, digests ...string) error {
	words := []any{"ACL", "SETUSER", user, "resetpass"}
	for _, digest := range digests {
		words = append(words, "#"+digest)
	}
	err := s.client.Do(ctx, words...).Err()
	var reply redis.Error
	if errors.As(err, &reply) {
		code, _, _ := strings.Cut(reply.Error(), " ")
		err = refused{code}
	}
	if err != nil {
		return fmt.Errorf("setting the passwords of user %s: %w", user, err)
	}
	return nil
}
