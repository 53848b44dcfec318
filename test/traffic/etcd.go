package traffic

import (
	"context"
	"net"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Etcd is a client of what a Service selects.
func Etcd(network Network, to Service) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: []string{"http://" + to.String()},
		Logger:    zap.NewNop(), // failures are the caller's to tell
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return network.Dial(ctx, to)
		})},
	})
}
