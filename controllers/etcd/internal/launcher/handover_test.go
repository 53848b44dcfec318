package launcher

import (
	"bufio"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// serveMetrics answers like an etcd that leads so many times, and then no more.
func serveMetrics(t *testing.T, times int64) (address string, asked *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	asked = &atomic.Int64{}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(connection).ReadString('\n')
			leads := 0
			if asked.Add(1) <= times {
				leads = 1
			}
			_, _ = fmt.Fprintf(connection, "HTTP/1.0 200 OK\r\n\r\n# HELP etcd_server_is_leader\netcd_server_is_leader %d\n", leads)
			_ = connection.Close()
		}
	}()
	return listener.Addr().String(), asked
}

func TestAwaitHandover(t *testing.T) {
	address, asked := serveMetrics(t, 2)
	awaitHandover(address, time.Hour)
	if asked.Load() != 3 {
		t.Errorf("asked %d times", asked.Load())
	}
	address, asked = serveMetrics(t, 1<<40)
	awaitHandover(address, 3*pollInterval)
	if asked.Load() == 0 {
		t.Error("it did not ask")
	}
	awaitHandover("127.0.0.1:1", time.Hour) // no one is there
}
