package traffic

import (
	"context"
	"crypto/tls"
	"net"
)

// Secured is a network whose connections speak TLS.
type Secured struct {
	Network
	Config *tls.Config
}

// Dial connects; the first bytes that are sent start with the handshake.
func (s Secured) Dial(ctx context.Context, to Service) (net.Conn, error) {
	conn, err := s.Network.Dial(ctx, to)
	if err != nil {
		return nil, err
	}
	return tls.Client(conn, s.Config), nil
}
