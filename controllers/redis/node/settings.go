package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Configure sets a directive on the running server.
func (s *Server) Configure(ctx context.Context, directive, value string) error {
	return message("setting "+directive, s.client.ConfigSet(ctx, directive, value).Err())
}

// Save makes the server write a snapshot of its data, after the append-only file
// when that is being rewritten.
func (s *Server) Save(ctx context.Context) error {
	return message("saving", s.client.Do(ctx, "BGSAVE", "SCHEDULE").Err())
}

// message keeps the words of a refusal: here they repeat nothing secret.
func message(what string, err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		err = refusedBy(reply, reply.Error())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, shortened(err))
	}
	return nil
}
