package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Configure sets a directive on the running server.
func (s *Server) Configure(ctx context.Context, directive, value string) error {
	return wrapRefusal("setting "+directive, s.client.ConfigSet(ctx, directive, value).Err())
}

// SaveSnapshot makes the server write a snapshot of its data, once a running rewrite of the
// append-only file has ended.
func (s *Server) SaveSnapshot(ctx context.Context) error {
	return wrapRefusal("saving", s.client.Do(ctx, "BGSAVE", "SCHEDULE").Err())
}

// wrapRefusal says what failed, and keeps the words of a refusal: here they repeat nothing secret.
func wrapRefusal(what string, err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		err = newCommandError(reply, reply.Error())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, shorten(err))
	}
	return nil
}
