// Package wire speaks with one redis-server: what it sees, and the few commands
// that change its role. It decides nothing.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// Port is the port that every server listens on.
	Port = 6379
	// Operator is the user that sends these commands.
	Operator = "_operator"

	// minReplicas is the directive for W.
	minReplicas = "min-replicas-to-write"
	// serveStale is the directive that lets a replica answer reads, and PING, while it
	// does not hear its master.
	serveStale = "replica-serve-stale-data"

	// dialTimeout is short: on a cluster's network an answer takes a millisecond,
	// and a pass must not stand still for one silent node.
	dialTimeout = 300 * time.Millisecond
	// confirmTimeout leaves time for an API server that is slow. It usually answers within a few milliseconds.
	confirmTimeout = time.Second
	// replyTimeout leaves time for a server that is busy with one slow command.
	replyTimeout = 500 * time.Millisecond
	// LookLimit is the time to connect to a server, to have its address confirmed, and for one slow command. It bounds a look at
	// several servers at once, too.
	LookLimit = dialTimeout + confirmTimeout + replyTimeout

	// bufferSize is the size of a connection's buffer, each way. INFO is some 7 KB; the library's 32 KiB would be 18 MB
	// for 32 passes over sets of 9 nodes.
	bufferSize = 4 << 10
)

// discardLogger drops the client library's own log: what it says is in the errors.
type discardLogger struct{}

func (discardLogger) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(discardLogger{}) }

// Server is one connection to one redis-server, for one pass. Nothing is
// retried: after a command whose answer was lost, the server is looked at again.
// Nor is the connection replaced: commands go to the process that was looked at,
// never to one that came after it.
type Server struct {
	client  *redis.Client
	usesTLS bool
	// connect makes a new client, which dials once.
	connect func() (*redis.Client, *atomic.Bool)
	// dial makes the client's connection, and the one by which Pin attaches.
	dial func(ctx context.Context) (net.Conn, error)
	// loggedIn reports whether the server has accepted our login on the client's connection.
	loggedIn *atomic.Bool
	// unconfirmed reports whether the client's connection was made and waits for its confirmation, or got none in time.
	unconfirmed *atomic.Bool
}

// errConnectionLost is the error of a command that another process could receive by now.
var errConnectionLost = errors.New("not sent: there is no connection any more to the process that was looked at")

// Confirm reports, by its error, whose server a connection that was just made leads to. Until it has returned nil, nothing is
// sent over the connection. If it could not find out, its error wraps ErrNotFoundOut.
type Confirm func(ctx context.Context) error

// ErrNotFoundOut is the error of a Confirm that could not find out whose server it is.
var ErrNotFoundOut = errors.New("it is not known whose address it is")

// Open prepares a connection, over TLS when secure is not nil; the first
// command makes it. Each connection is confirmed before the password is sent, if confirm is not nil.
func Open(address, password string, secure *tls.Config, confirm Confirm) *Server {
	return openConfirmed(net.JoinHostPort(address, strconv.Itoa(Port)), password, secure, replyTimeout, confirm)
}

// Knock prepares connections that send nothing: a look shows only whether the address refuses.
func Knock(address string) *Server {
	return Open(address, "", nil, func(context.Context) error { return errNoPod })
}

// errNoPod is the error of a login at an address that no pod of ours has.
var errNoPod = errors.New("no login is sent: no pod has this address")

func open(hostport, password string, secure *tls.Config) *Server {
	return openWithin(hostport, password, secure, replyTimeout)
}

// openWithin returns a Server each of whose replies, a TLS handshake's among them, may take replyLimit.
func openWithin(hostport, password string, secure *tls.Config, replyLimit time.Duration) *Server {
	return openConfirmed(hostport, password, secure, replyLimit, nil)
}

func openConfirmed(hostport, password string, secure *tls.Config, replyLimit time.Duration, confirm Confirm) *Server {
	timeout := dialTimeout
	if secure != nil {
		timeout += replyLimit
	}
	if confirm != nil {
		timeout += confirmTimeout
	}
	dial := func(ctx context.Context, unconfirmed *atomic.Bool) (net.Conn, error) {
		conn, err := dialTwice(ctx, hostport)
		if err != nil {
			return nil, err
		}
		if confirm != nil { // after the dial: a pod that gets the address later does not get this connection
			unconfirmed.Store(true) // also if the caller that waits for the connection gives up meanwhile
			err := confirm(ctx)
			unconfirmed.Store(errors.Is(err, ErrNotFoundOut))
			if err != nil {
				_ = conn.Close()
				return nil, err
			}
		}
		if conn, err = wrapTLS(ctx, conn, secure); err != nil {
			return nil, err
		}
		return &limitedConn{Conn: conn}, nil
	}
	s := newServer(dial, password, timeout, replyLimit)
	s.usesTLS = secure != nil
	return s
}

// dialFunc makes a connection. It keeps in unconfirmed whether that is made and not confirmed.
type dialFunc func(ctx context.Context, unconfirmed *atomic.Bool) (net.Conn, error)

// newServer returns a Server whose connection dial makes. dial may take timeout, and each reply replyLimit.
func newServer(dial dialFunc, password string, timeout, replyLimit time.Duration) *Server {
	loggedIn := &atomic.Bool{}
	connect := func() (*redis.Client, *atomic.Bool) {
		var dialled atomic.Bool
		unconfirmed := &atomic.Bool{}
		loggedIn.Store(false)
		client := redis.NewClient(&redis.Options{
			Username:                 Operator,
			Password:                 password,
			Protocol:                 2,
			PoolSize:                 1,
			PipelinePoolSize:         -1, // transactions go over the same one
			ReadBufferSize:           bufferSize,
			WriteBufferSize:          bufferSize,
			MaxRetries:               -1,
			ConnMaxIdleTime:          -1, // one to a master is kept from pass to pass
			DialerRetries:            1,
			DialTimeout:              timeout,
			ReadTimeout:              replyLimit,
			WriteTimeout:             replyLimit,
			ContextTimeoutEnabled:    true,
			DisableIdentity:          true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				if dialled.Swap(true) {
					return nil, errConnectionLost
				}
				return dial(ctx, unconfirmed)
			},
			OnConnect: func(context.Context, *redis.Conn) error { // after the login
				loggedIn.Store(true)
				return nil
			},
		})
		return client, unconfirmed
	}
	s := &Server{connect: connect, loggedIn: loggedIn,
		dial: func(ctx context.Context) (net.Conn, error) { return dial(ctx, &atomic.Bool{}) }}
	s.client, s.unconfirmed = connect()
	return s
}

// Redial makes the next command connect again, perhaps to another process.
func (s *Server) Redial() {
	s.Close()
	s.client, s.unconfirmed = s.connect()
}

// Close ends the connection.
func (s *Server) Close() { _ = s.client.Close() }

// dialTwice connects. It tries an address that refuses once more, so that a refusal is no accident.
func dialTwice(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialAddress(ctx, dialer, address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		conn, err = dialAddress(ctx, dialer, address)
	}
	return conn, err
}

// Fence makes the server follow no other. It keeps its data, its history and its
// offset, refuses writes, and still feeds the replicas that it has.
func (s *Server) Fence(ctx context.Context) error {
	return s.do(ctx, "REPLICAOF", FenceHost, "1")
}

// Follow makes the server a replica of the master at that address, to which it logs in by that login. A replica confirms no write to a
// client, so a backup may ask it for a dump.
func (s *Server) Follow(ctx context.Context, address string, as Login) error {
	_, err := s.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.ConfigSet(ctx, "masteruser", as.User)
		tx.ConfigSet(ctx, "masterauth", as.Password)
		tx.Do(ctx, setDumpRights(true)...)
		tx.Do(ctx, "REPLICAOF", address, strconv.Itoa(Port))
		return nil
	})
	if err != nil {
		return fmt.Errorf("following %s: %w", address, shorten(err))
	}
	return nil
}

// Promote makes the server a master that takes writes under that W from its
// first moment on. From then on it answers reads, even later as a replica that does not hear its master.
func (s *Server) Promote(ctx context.Context, w int32) error {
	_, err := s.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.ConfigSet(ctx, minReplicas, strconv.Itoa(int(w)))
		tx.ConfigSet(ctx, serveStale, "yes")
		tx.Do(ctx, "REPLICAOF", "NO", "ONE")
		return nil
	})
	if err != nil {
		return fmt.Errorf("promoting: %w", shorten(err))
	}
	return nil
}

// SetMinReplicas changes W on a master.
func (s *Server) SetMinReplicas(ctx context.Context, n int32) error {
	return s.do(ctx, "CONFIG", "SET", minReplicas, strconv.Itoa(int(n)))
}

// ServeStale lets a replica answer reads also while it does not hear its master.
func (s *Server) ServeStale(ctx context.Context) error {
	return s.do(ctx, "CONFIG", "SET", serveStale, "yes")
}

// Pause holds the clients' writes back, which spares them an error during a switchover.
func (s *Server) Pause(ctx context.Context, d time.Duration) error {
	return s.do(ctx, "CLIENT", "PAUSE", strconv.FormatInt(d.Milliseconds(), 10), "WRITE")
}

// Unpause lets clients write again.
func (s *Server) Unpause(ctx context.Context) error { return s.do(ctx, "CLIENT", "UNPAUSE") }

// KillClients closes the applications' connections, which then find the new master
// by the Service. Replicas, probes and the operator stay.
func (s *Server) KillClients(ctx context.Context) error {
	return errors.Join(
		s.do(ctx, "CLIENT", "KILL", "TYPE", "normal", "USER", "default"),
		s.do(ctx, "CLIENT", "KILL", "TYPE", "pubsub", "USER", "default"))
}

// KillOtherOperators closes the connections of every other operator, so that the commands
// of one that was replaced as leader do not arrive any more.
func (s *Server) KillOtherOperators(ctx context.Context) error {
	return s.do(ctx, "CLIENT", "KILL", "USER", Operator, "SKIPME", "yes")
}

func (s *Server) do(ctx context.Context, words ...any) error {
	if err := s.client.Do(ctx, words...).Err(); err != nil {
		return fmt.Errorf("%v: %w", words, shorten(err))
	}
	return nil
}
