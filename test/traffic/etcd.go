package traffic

import (
	"context"
	"crypto/tls"
	"net"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Etcd is a client of what a Service selects, by TLS if secure is not nil.
func Etcd(network Network, to Service, secure *tls.Config) (*clientv3.Client, error) {
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	return clientv3.New(clientv3.Config{
		Endpoints: []string{scheme + to.String()},
		TLS:       secure,
		Logger:    zap.NewNop(), // failures are the caller's to tell
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return network.Dial(ctx, to)
		})},
	})
}
