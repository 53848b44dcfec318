package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// loopback is a set of real redis-servers, each with the configuration that its
// pod would have and an address of its own, and the real plan and acts over them.
// Only the API server is missing.
type loopback struct {
	t       *testing.T
	redis   *cachev1alpha1.Redis
	secrets credentials
	r       *Reconciler
	written settings // in the Secret
	nodes   []*local
}

// local is a pod: a process that comes back as another, with or without its data.
type local struct {
	name, address, dir string
	uid                types.UID
	mark               string // of the settings that its pod was made for
	command            *exec.Cmd
}

// networks that this process has used.
var networks atomic.Int32

// network of a test's own: loopback is a /8.
func network() string {
	return fmt.Sprintf("127.%d.%d", 100+os.Getpid()%150, os.Getpid()/150%16*16+int(networks.Add(1))%16)
}

func newLoopback(t *testing.T, size int32, with ...func(*cachev1alpha1.Redis)) *loopback {
	t.Helper()
	t.Parallel()
	own := network()
	l := &loopback{t: t, r: &Reconciler{clock: clock.RealClock{}}, redis: &cachev1alpha1.Redis{},
		secrets: credentials{operator: "operator", replication: "replication", wanted: login{password: "app"}, told: login{password: "app"}}}
	l.redis.Name, l.redis.UID, l.redis.Spec.Size = "a", "a", ptr.To(size)
	for _, change := range with {
		change(l.redis)
	}
	for n := range size {
		l.nodes = append(l.nodes, &local{name: fmt.Sprintf("a-%d", n), uid: types.UID(fmt.Sprint("uid-", n)), dir: t.TempDir(),
			address: fmt.Sprintf("%s.%d", own, 10+n)})
	}
	l.written = initial(l.redis)
	for _, n := range l.nodes {
		l.start(n)
	}
	t.Cleanup(func() {
		for _, n := range l.nodes {
			l.kill(n)
		}
	})
	l.until("the set is formed", func() bool { return l.pass() == rest })
	return l
}

// mount the files in a new pod. A kubelet that is slow beyond measure leaves them
// as they are for the pod's life.
func (l *loopback) mount(n *local) {
	l.t.Helper()
	here := strings.NewReplacer(dataDir, n.dir, filesDir, n.dir) // what is mounted in a pod
	if err := errors.Join(os.WriteFile(filepath.Join(n.dir, usersKey), []byte(usersACL(l.secrets)), 0o600),
		os.WriteFile(filepath.Join(n.dir, confKey), []byte(here.Replace(redisConf(l.redis, l.secrets, l.written))), 0o600)); err != nil {
		l.t.Fatal(err)
	}
	n.mark = confMark(l.redis, l.written)
}

func (l *loopback) start(n *local) {
	l.t.Helper()
	if n.mark == "" {
		l.mount(n)
	}
	n.command = exec.Command("redis-server", filepath.Join(n.dir, confKey), "--bind", n.address, "--bind-source-addr", n.address)
	if err := n.command.Start(); err != nil {
		l.t.Fatal("these tests speak with real redis-servers (apt-get install redis-server): ", err)
	}
}

// replace the pod of a node, which keeps its volume if it has one.
func (l *loopback) replace(n *local) {
	l.t.Helper()
	l.signal(n, syscall.SIGTERM)
	grace := time.AfterFunc(graceSeconds*time.Second, func() { _ = n.command.Process.Kill() })
	_ = n.command.Wait()
	if !grace.Stop() {
		l.t.Error(n.name, " did not end by itself")
	}
	n.uid += types.UID("-again")
	l.mount(n)
	l.start(n)
}

func (l *loopback) kill(n *local) {
	_ = n.command.Process.Kill()
	_ = n.command.Wait()
}

func (l *loopback) signal(n *local, s syscall.Signal) {
	l.t.Helper()
	if err := n.command.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

func (l *loopback) named(name string) *local {
	for _, n := range l.nodes {
		if n.name == name {
			return n
		}
	}
	l.t.Fatalf("no node %q", name)
	return nil
}

func (l *loopback) master() *local { return l.named(l.redis.Status.Master) }

// replica is one: which node became master first is chance.
func (l *loopback) replica() *local {
	return l.nodes[slices.IndexFunc(l.nodes, func(n *local) bool { return n != l.master() })]
}

// pass is one of the operator's.
func (l *loopback) pass() verb {
	f := &fleet{servers: map[string]server{}, keys: l.secrets, open: func(address string) server { return node.Open(address, l.secrets.operator, nil) }}
	defer f.close()
	for _, n := range l.nodes {
		f.members = append(f.members, member{name: n.name, podUID: n.uid, address: n.address, mute: l.r.memory.mute(l.redis, n.address),
			conf: n.mark, outdated: n.mark != confMark(l.redis, l.written)})
		f.servers[n.name] = f.open(n.address)
	}
	f.look(l.t.Context())
	l.r.remember(l.redis, f)
	f.begin(l.redis, l.written)
	next := plan(l.redis, f.world)
	switch next.do {
	case evict:
		n := l.named(next.nodes[0])
		l.kill(n)
		l.start(n)
		return next.do
	case remove:
		l.replace(l.named(next.nodes[0]))
		return next.do
	}
	saved := func(context.Context) error { return nil }
	if err := l.r.act(l.t.Context(), l.redis, f, next, saved); err != nil {
		l.t.Log(next, err)
	}
	l.r.settle(l.redis, f)
	l.written = f.settings
	if last := l.redis.Status.LastFailover; last != nil && last.RoutedAt == nil && last.To == l.redis.Status.Master {
		last.RoutedAt = l.r.now()
	}
	return next.do
}

// until passes have made it true.
func (l *loopback) until(what string, holds func() bool) {
	l.t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			l.t.Fatalf("never came true: %s", what)
		}
	}
}

// heal passes until all is well.
func (l *loopback) heal() {
	l.t.Helper()
	l.until("all is well", func() bool { return l.pass() == rest })
}

func (l *loopback) client(n *local) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: n.address + ":" + strconv.Itoa(node.Port), Password: l.secrets.told.password,
		MaxRetries: -1, DialerRetries: 1, PoolSize: 1, DisableIdentity: true, ReadTimeout: 300 * time.Millisecond,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// operator's own way to a server, and what it may ask.
func (l *loopback) operator(n *local) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: n.address + ":" + strconv.Itoa(node.Port), Username: node.Operator, Password: l.secrets.operator,
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// info is one field of a server's INFO, as the operator may read it.
func (l *loopback) info(n *local, field string) string {
	l.t.Helper()
	text, err := l.operator(n).Info(l.t.Context(), "everything").Result()
	if err != nil {
		l.t.Fatal(err)
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			return value
		}
	}
	l.t.Fatalf("INFO has no %s", field)
	return ""
}

// write so many keys to the master, each confirmed by a replica.
func (l *loopback) write(from, to int) {
	l.t.Helper()
	c := l.client(l.master()).Conn()
	defer func() { _ = c.Close() }()
	for n := from; n < to; n++ {
		for err := c.Set(l.t.Context(), strconv.Itoa(n), n, 0).Err(); err != nil; err = c.Set(l.t.Context(), strconv.Itoa(n), n, 0).Err() {
			if !strings.HasPrefix(err.Error(), "NOREPLICAS") { // they are being attached
				l.t.Fatal(err)
			}
			l.pass()
		}
		if copies, err := c.Wait(l.t.Context(), 1, 5*time.Second).Result(); err != nil || copies < 1 {
			l.t.Fatal(copies, err)
		}
	}
}

// has every key below n, on every node.
func (l *loopback) has(n int) {
	l.t.Helper()
	for _, on := range l.nodes {
		if keys, err := l.client(on).DBSize(l.t.Context()).Result(); err != nil || keys != int64(n) {
			l.t.Errorf("%s holds %d keys of %d: %v", on.name, keys, n, err)
		}
	}
}
