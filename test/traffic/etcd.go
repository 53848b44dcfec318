package traffic

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Etcd is a client of what a Service selects, by TLS if secure is not nil: the library has the server be who the endpoint names,
// whatever the configuration says. It logs in as that user; an empty one does not.
func Etcd(network Network, to Service, secure *tls.Config, user, password string) (*clientv3.Client, error) {
	endpoint := "http://" + to.String()
	if secure != nil {
		endpoint = fmt.Sprintf("https://%s:%d", secure.ServerName, to.Port)
	}
	return clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint},
		TLS:       secure,
		Username:  user,
		Password:  password,
		Logger:    zap.NewNop(), // failures are the caller's to report
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return network.Dial(ctx, to)
		})},
	})
}
