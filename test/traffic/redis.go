package traffic

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
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
		// Or a hung server is waited for as long as the library sees fit.
		ContextTimeoutEnabled: true,
		// Or each new client looks its address up in the DNS, for up to 2 s.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}
