package traffic

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// Redis is a client of what a Service selects. It says each command once, so
// that a failure is seen and not repeated away.
func Redis(network Network, to Service, username, password string) *redis.Client {
	logging.Disable() // failures are the caller's to tell
	return redis.NewClient(&redis.Options{
		Addr:            to.String(),
		Username:        username,
		Password:        password,
		Dialer:          func(ctx context.Context, _, _ string) (net.Conn, error) { return network.Dial(ctx, to) },
		MaxRetries:      -1,
		DialerRetries:   1,
		DisableIdentity: true,
	})
}
