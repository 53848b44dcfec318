package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

const host = "data.default.svc"

// showing returns a config that presents the secret's certificate, and demands one of the same authority's.
func showing(t *testing.T, secret map[string][]byte) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(secret["tls.crt"], secret["tls.key"])
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret["ca.crt"])
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: roots, Certificates: []tls.Certificate{pair}}
}

// issued returns a new secret of the authority, and the files that hold it.
func issued(t *testing.T, by *authority.Authority) (map[string][]byte, TLSFiles) {
	t.Helper()
	secret := by.Issue(host)
	dir := t.TempDir()
	for name, content := range secret {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return secret, TLSFiles{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")}
}

// startTLS starts a server that demands a certificate from everyone.
func startTLS(t *testing.T, secret map[string][]byte, files TLSFiles) *process {
	t.Helper()
	return launch(t, showing(t, secret), "--port", "0", "--tls-replication", "yes", "--tls-auth-clients", "yes",
		"--tls-cert-file", files.Certificate, "--tls-key-file", files.Key, "--tls-ca-cert-file", files.Authorities, "--tls-port")
}

func serialAt(t *testing.T, hostport string, config *tls.Config) *big.Int {
	t.Helper()
	conn, err := tls.Dial("tcp", hostport, config)
	must(t, err)
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber
}

func TestAllOverTLS(t *testing.T) {
	secret, files := issued(t, authority.New("test"))
	master, replica := startTLS(t, secret, files), startTLS(t, secret, files)
	if view := master.Look(t.Context()); !view.Fenced() || view.Certificate != files.Certificate {
		t.Fatalf("want a fenced server with its certificate, got %+v", view)
	}
	must(t, master.Promote(t.Context(), 0))
	replica.follow(t, master)
	must(t, master.do(t.Context(), "SET", "k", "v"))
	written := master.Look(t.Context())
	eventually(t, "the write arrives", func() bool { return replica.Look(t.Context()).Offset >= written.Offset })
	must(t, replica.Fence(t.Context()))
	if fenced := replica.Look(t.Context()); !fenced.Fenced() || fenced.ReplID != written.ReplID || fenced.Keys != 1 {
		t.Fatalf("the fence lost its place: %+v after %+v", fenced, written)
	}
}

// A handshake that fails says nothing about the process: it is no evidence.
func TestHandshakeThatFailsIsSilence(t *testing.T) {
	secret, files := issued(t, authority.New("test"))
	p := startTLS(t, secret, files)
	other, _ := issued(t, authority.New("test"))
	withoutCertificate := showing(t, secret)
	withoutCertificate.Certificates = nil
	misnamed := showing(t, secret)
	misnamed.ServerName = "other.default.svc"
	for reason, config := range map[string]*tls.Config{
		"another authority": showing(t, other), "no certificate": withoutCertificate, "another name": misnamed, "in the clear": nil,
	} {
		client := open(p.hostport, password, config)
		if got := client.Look(t.Context()).Answer; got != Silent {
			t.Errorf("%s: %v", reason, got)
		}
		client.Close()
	}
	must(t, p.command.Process.Kill())
	_ = p.command.Wait()
	fresh := openWithin(p.hostport, password, showing(t, secret), time.Minute)
	defer fresh.Close()
	if got := fresh.Look(t.Context()).Answer; got != Refused {
		t.Errorf("killed: %v", got)
	}
}

func TestWatchOverTLS(t *testing.T) {
	secret, files := issued(t, authority.New("test"))
	p := startTLS(t, secret, files)
	config := showing(t, secret)
	news := p.watched(t, 200*time.Millisecond, WatchHandler{TLSConfig: func() *tls.Config { return config }})
	<-news // it is there
	must(t, p.Promote(t.Context(), 0))
	<-news // it is master, seen although reads of the connection have timed out before
	must(t, p.command.Process.Kill())
	<-news // it has ended
}

// continuousWriter is a client that writes without pause: over one connection, and over a
// new one each time.
type continuousWriter struct {
	written, failed atomic.Int64
	stop            context.CancelFunc
	done            chan struct{}
}

func write(t *testing.T, hostport string, config *tls.Config) *continuousWriter {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	b := &continuousWriter{stop: stop, done: make(chan struct{})}
	options := &redis.Options{Addr: hostport, MaxRetries: -1, PoolSize: 1, TLSConfig: config}
	go func() {
		defer close(b.done)
		kept := redis.NewClient(options)
		defer func() { _ = kept.Close() }()
		for ctx.Err() == nil {
			fresh := redis.NewClient(options)
			for _, client := range []*redis.Client{kept, fresh} {
				switch err := client.Incr(context.WithoutCancel(ctx), "n").Err(); {
				case err == nil:
					b.written.Add(1)
				case !errors.Is(err, context.Canceled):
					b.failed.Add(1)
				}
			}
			_ = fresh.Close()
		}
	}()
	return b
}

func (c *continuousWriter) end(t *testing.T) {
	t.Helper()
	c.stop()
	<-c.done
	if c.failed.Load() > 0 || c.written.Load() == 0 {
		t.Errorf("%d writes failed, %d did not", c.failed.Load(), c.written.Load())
	}
}

func TestLoadUnderWrites(t *testing.T) {
	by := authority.New("test")
	secret, files := issued(t, by)
	master, replica := startTLS(t, secret, files), startTLS(t, secret, files)
	must(t, master.Promote(t.Context(), 0))
	replica.follow(t, master)
	before := serialAt(t, master.hostport, showing(t, secret))
	clients := write(t, master.hostport, showing(t, secret))

	if loaded, err := master.LoadCertificate(t.Context(), TLSFiles{"/none.crt", "/none.key", "/none-ca.crt"}); loaded || err != nil {
		t.Fatalf("loaded what is not there: %t, %v", loaded, err)
	}
	if view := master.Look(t.Context()); view.Certificate != files.Certificate ||
		serialAt(t, master.hostport, showing(t, secret)).Cmp(before) != 0 {
		t.Fatalf("what could not be loaded is in use: %+v", view)
	}
	for range 10 {
		renewed, files := issued(t, by)
		for _, p := range []*process{master, replica} {
			if loaded, err := p.LoadCertificate(t.Context(), files); !loaded || err != nil {
				t.Fatalf("not loaded: %v", err)
			}
			if view := p.Look(t.Context()); view.Certificate != files.Certificate {
				t.Fatalf("got %+v", view)
			}
		}
		now := serialAt(t, master.hostport, showing(t, renewed))
		if now.Cmp(before) == 0 {
			t.Fatal("the old certificate is still presented")
		}
		before = now
	}
	clients.end(t)
	if view := replica.Look(t.Context()); !view.LinkUp || view.ReplID != master.Look(t.Context()).ReplID {
		t.Errorf("the replica lost its master: %+v", view)
	}
}

// Another pod may get the address of one that is gone.
func TestWatchToleratesServersWithoutTLS(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n"))
			_ = conn.Close()
		}
	}()
	ear := WatchHandler{TLSConfig: func() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host} },
		OnReply: func(map[string]int64) {}, OnChange: func() {}}
	if met, _ := watchConnection(t.Context(), listener.Addr().String(), time.Minute, ear); met {
		t.Error("took it for a server")
	}
}
