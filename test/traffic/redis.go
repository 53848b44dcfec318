package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// Redis is a client of what a Service selects. It says each command once, so
// that a failure is seen and not repeated away.
func Redis(network Network, to Service, username, password string) *redis.Client {
	logging.Disable() // failures are the caller's to report
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

// Application gives clients of a set's master Service, as its binding says; over
// whatever network.
func Application(ctx context.Context, c client.Reader, r *cachev1alpha1.Redis) (func(Network) *redis.Client, error) {
	if r.Status.Binding == nil {
		return nil, errors.New("the set has no binding yet")
	}
	var binding corev1.Secret
	if err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Status.Binding.Name}, &binding); err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(string(binding.Data["port"]), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("the binding's port: %w", err)
	}
	to := Service{Namespace: r.Namespace, Name: r.Name, Port: int32(port)}
	user, password := string(binding.Data["username"]), string(binding.Data["password"])
	return func(network Network) *redis.Client { return Redis(network, to, user, password) }, nil
}
