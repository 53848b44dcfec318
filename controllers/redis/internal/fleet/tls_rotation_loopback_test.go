package fleet

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// pod is a real redis-server with the very files that a pod has, at an address
// of its own on loopback.
type pod struct {
	address string
	dir     string
}

func run(t *testing.T, r *cachev1alpha1.Redis, address string, i config.Identity) *pod {
	t.Helper()
	p := &pod{address, t.TempDir()}
	p.deliver(t, i)
	here := strings.NewReplacer(config.CertificatesDir, p.dir, config.FilesDir, p.dir, config.SocketDir, p.dir, config.DataDir, p.dir)
	conf := here.Replace(config.Resolve(r).RedisConf(fixture.Passwords, config.Resolve(r).InitialSettings())) + "bind " + address + "\n"
	p.write(t, config.ConfKey, conf)
	p.write(t, config.UsersKey, config.UsersACL(fixture.Passwords))
	server := exec.Command(config.Resolve(r).ServerProgram(), filepath.Join(p.dir, config.ConfKey))
	if err := server.Start(); err != nil {
		t.Fatal("this test speaks with a real redis-server: ", err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	awaits(t, "the server listens", func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort(address, strconv.Itoa(wire.Port)))
		return err == nil && conn.Close() == nil
	})
	return p
}

func (p *pod) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// deliver what was published, as a kubelet does.
func (p *pod) deliver(t *testing.T, i config.Identity) {
	t.Helper()
	for key, value := range config.IdentityData(i) {
		p.write(t, key, strings.ReplaceAll(value, config.CertificatesDir, p.dir))
	}
}

// load what was delivered, as the operator does that shows what was published. A server that does
// not answer in time, as on a busy machine, is asked again.
func (p *pod) load(t *testing.T, published config.Identity) (loaded bool) {
	t.Helper()
	files := config.IdentityFiles(published)
	awaits(t, p.address+" answers", func() bool {
		server := p.open(t, published)
		defer server.Close()
		var err error
		loaded, err = server.LoadCertificate(t.Context(), wire.TLSFiles{
			Certificate: p.local(files.Certificate), Key: p.local(files.Key), Authorities: p.local(files.Authorities)})
		return err == nil
	})
	return loaded
}

func (p *pod) local(file string) string { return filepath.Join(p.dir, path.Base(file)) }

func (p *pod) open(t *testing.T, shown config.Identity) *wire.Server {
	t.Helper()
	config, err := shown.TLSConfig("a.ns.svc", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Open(p.address, fixture.Passwords.Operator, config, nil)
}

func (p *pod) client(t *testing.T, shown config.Identity, user, password string) *goredis.Client {
	t.Helper()
	config, err := shown.TLSConfig("a.ns.svc", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return goredis.NewClient(&goredis.Options{Addr: net.JoinHostPort(p.address, strconv.Itoa(wire.Port)),
		Username: user, Password: password, TLSConfig: config, MaxRetries: -1, PoolSize: 1, Protocol: 2,
		ReadTimeout: replyTimeout})
}

func awaits(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.NewTimer(2*replyTimeout), time.NewTicker(5*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("never came true: %s", what)
		}
	}
}

// The authority changes under applications that write, replicas that lose their
// link at the worst moment, and an operator that must reach every node.
func TestNoOneIsRefusedWhileTheAuthorityChanges(t *testing.T) {
	r := fixture.Secured(cachev1alpha1.RedisClientAuthRequired)
	old, wanted := fixture.IdentityOf(fixture.Issue(authority.New("one"))), fixture.IdentityOf(fixture.Issue(authority.New("two")))
	published := old
	own := network(t)
	set := []*pod{run(t, r, own+".10", old), run(t, r, own+".11", old), run(t, r, own+".12", old)}
	master := set[0].open(t, old)
	if err := master.Promote(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	master.Close()
	for _, p := range set[1:] {
		server := p.open(t, old)
		if err := server.Follow(t.Context(), set[0].address, wire.Login{User: wire.Replication,
			Password: fixture.Passwords.Replication}); err != nil {
			t.Fatal(err)
		}
		server.Close()
		p.awaitLink(t, old)
	}
	w := writeTo(t, set[0], old)
	steps := 0
	for published.ContentHash() != wanted.ContentHash() {
		published = pki.Certificates{Published: published, Wanted: wanted}.NextPublished(time.Now())
		steps++
		for _, p := range set {
			if p.load(t, published) {
				t.Fatal("loaded before it was delivered")
			}
			p.deliver(t, published)
			if !p.load(t, published) {
				t.Fatal("not loaded although it was delivered")
			}
			set[0].cutLinks(t, published)
			for _, replica := range set[1:] {
				replica.awaitLink(t, published)
			}
		}
		w.shown.Store(&published)
	}
	if w.end(t); steps != 3 {
		t.Errorf("%d steps", steps)
	}
	for _, p := range set {
		server := p.open(t, wanted)
		if view := server.Look(t.Context()); view.Certificate != p.local(config.IdentityFiles(wanted).Certificate) {
			t.Errorf("%s is left behind: %+v", p.address, view)
		}
		server.Close()
	}
	if outdated := set[0].open(t, old); outdated.Look(t.Context()).Answer != wire.Silent {
		t.Error("who shows the old certificate is still let in")
	}
}

func (p *pod) awaitLink(t *testing.T, shown config.Identity) {
	t.Helper()
	server := p.open(t, shown)
	defer server.Close()
	awaits(t, p.address+" hears its master", func() bool { return server.Look(t.Context()).LinkUp })
}

// cutLinks of the replicas, which must then be let in again.
func (p *pod) cutLinks(t *testing.T, shown config.Identity) {
	t.Helper()
	c := p.client(t, shown, wire.Operator, fixture.Passwords.Operator)
	defer func() { _ = c.Close() }()
	if err := c.Do(t.Context(), "CLIENT", "KILL", "TYPE", "replica").Err(); err != nil {
		t.Fatal(err)
	}
}

// writer is an application with one connection that it keeps and others that it
// makes again, with what was published when all nodes had loaded it.
type writer struct {
	shown           atomic.Pointer[config.Identity]
	written, failed atomic.Int64
	stop            context.CancelFunc
	done            chan struct{}
}

func writeTo(t *testing.T, p *pod, shown config.Identity) *writer {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &writer{stop: stop, done: make(chan struct{})}
	w.shown.Store(&shown)
	kept := p.client(t, shown, config.Application, fixture.Passwords.Published.Password)
	go func() {
		defer close(w.done)
		defer func() { _ = kept.Close() }()
		for ctx.Err() == nil {
			fresh := p.client(t, *w.shown.Load(), config.Application, fixture.Passwords.Published.Password)
			for _, client := range []*goredis.Client{kept, fresh} {
				if err := client.Incr(context.WithoutCancel(ctx), "n").Err(); err != nil && !errors.Is(err, context.Canceled) {
					w.failed.Add(1)
				} else {
					w.written.Add(1)
				}
			}
			_ = fresh.Close()
		}
	}()
	return w
}

func (w *writer) end(t *testing.T) {
	t.Helper()
	w.stop()
	<-w.done
	if w.failed.Load() > 0 || w.written.Load() == 0 {
		t.Errorf("%d writes failed, %d did not", w.failed.Load(), w.written.Load())
	}
	t.Logf("%d writes, %d failed", w.written.Load(), w.failed.Load())
}
