package fleet

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// loopback is a set of real redis-servers, each with the configuration that its
// pod would have and an address of its own, and the real plan and acts over them.
// Only the API server is missing.
type loopback struct {
	t       *testing.T
	redis   *cachev1alpha1.Redis
	secrets config.Credentials
	running runningOperator
	written config.Settings // in the Secret
	nodes   []*localServer
	last    topology.Step              // of the operator's
	volumes map[string]topology.Volume // by node, what the operator has stamped; none without storage
	dump    string                     // file of the backup to start with
	source  *localServer               // that serves it
	network string
	used    int // addresses of the network
}

// localServer is a pod: a process that comes back as another, with or without its data.
type localServer struct {
	name, address, dir string
	uid                types.UID
	restartSettings    string // those that its pod was made for
	command            *exec.Cmd
}

// network returns a network that no other test has until this one ends, neither of this process nor of another: loopback is a /8.
func network(t *testing.T) string {
	t.Helper()
	for {
		name := fmt.Sprintf("127.%d.%d", 100+rand.N(150), rand.N(256))
		held, err := net.Listen("tcp", fmt.Sprintf("%s.1:%d", name, wire.Port))
		if err == nil {
			t.Cleanup(func() { _ = held.Close() })
			return name
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
}

// newLoopback gives a set that was formed and has come to rest.
func newLoopback(t *testing.T, size int32, with ...func(*cachev1alpha1.Redis)) *loopback {
	t.Helper()
	l := startLoopback(t, size, with...)
	l.until("the set is formed", func() bool { return l.pass() == topology.Idle })
	return l
}

// startLoopback gives a set whose servers have just been started.
func startLoopback(t *testing.T, size int32, with ...func(*cachev1alpha1.Redis)) *loopback {
	t.Helper()
	t.Parallel()
	l := &loopback{t: t, network: network(t), volumes: map[string]topology.Volume{}, running: startOperator(clock.RealClock{}),
		redis: &cachev1alpha1.Redis{},
		secrets: config.Credentials{Operator: "operator", Replication: "replication", Backup: "backup", Wanted: config.AppLogin{Password: "app"},
			Published: config.AppLogin{Password: "app"}}}
	l.redis.Name, l.redis.UID, l.redis.Spec.Size = "a", "a", ptr.To(size)
	for _, change := range with {
		change(l.redis)
	}
	for n := range size {
		name := fmt.Sprintf("a-%d", n)
		l.nodes = append(l.nodes, &localServer{name: name, uid: types.UID(fmt.Sprint("uid-", n)), dir: t.TempDir(), address: l.address()})
		if l.redis.Spec.Storage != nil {
			l.volumes[name] = topology.Volume{}
		}
	}
	l.written = config.Resolve(l.redis).InitialSettings()
	for _, n := range l.nodes {
		l.start(n)
	}
	t.Cleanup(func() {
		for _, n := range l.nodes {
			l.kill(n)
		}
	})
	return l
}

// address that no server has had.
func (l *loopback) address() string {
	l.used++
	return fmt.Sprintf("%s.%d", l.network, 9+l.used)
}

// mount the files in a new pod. A kubelet that is slow beyond measure leaves them
// as they are for the pod's life.
func (l *loopback) mount(n *localServer) {
	l.t.Helper()
	here := strings.NewReplacer(config.DataDir, n.dir, config.FilesDir, n.dir) // what is mounted in a pod
	if err := errors.Join(os.WriteFile(filepath.Join(n.dir, config.UsersKey), []byte(config.UsersACL(l.secrets)), 0o600),
		os.WriteFile(filepath.Join(n.dir, config.ConfKey), []byte(here.Replace(config.Resolve(l.redis).RedisConf(l.secrets, l.written))),
			0o600)); err != nil {
		l.t.Fatal(err)
	}
	n.restartSettings = config.Resolve(l.redis).RestartSettings(l.written)
}

func (l *loopback) start(n *localServer) {
	l.t.Helper()
	if n.restartSettings == "" {
		l.mount(n)
	}
	n.command = exec.Command("redis-server", filepath.Join(n.dir, config.ConfKey), "--bind", n.address, "--bind-source-addr", n.address)
	if err := n.command.Start(); err != nil {
		l.t.Fatal("these tests speak with real redis-servers (apt-get install redis-server): ", err)
	}
}

// replace the pod of a node, which keeps its volume if it has one.
func (l *loopback) replace(n *localServer) {
	l.t.Helper()
	l.signal(n, syscall.SIGTERM)
	grace := time.AfterFunc(30*time.Second, func() { _ = n.command.Process.Kill() })
	_ = n.command.Wait()
	if !grace.Stop() {
		l.t.Error(n.name, " did not end by itself")
	}
	n.uid += types.UID("-again")
	l.mount(n)
	l.start(n)
}

func (l *loopback) kill(n *localServer) {
	_ = n.command.Process.Kill()
	_ = n.command.Wait()
}

func (l *loopback) signal(n *localServer, s syscall.Signal) {
	l.t.Helper()
	if err := n.command.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

func (l *loopback) named(name string) *localServer {
	for _, n := range l.nodes {
		if n.name == name {
			return n
		}
	}
	l.t.Fatalf("no node %q", name)
	return nil
}

func (l *loopback) master() *localServer { return l.named(l.redis.Status.Master) }

// replica is one: which node became master first is chance.
func (l *loopback) replica() *localServer {
	return l.nodes[slices.IndexFunc(l.nodes, func(n *localServer) bool { return n != l.master() })]
}

// look does what a pass does before it plans.
func (l *loopback) look() *Fleet {
	p := l.running.fleetOf(l.redis)
	p.Credentials, p.Volumes = l.secrets, maps.Clone(l.volumes)
	p.effects = scripted{onSource: l.setSource, onStamp: func(name string, is topology.Stamp) error {
		l.volumes[name], p.Volumes[name] = topology.Volume{Stamp: is}, topology.Volume{Stamp: is}
		return nil
	}}
	wasSilent := func(address string) bool { return p.memory.watched.contactOf(address).wasSilent }
	for _, n := range l.nodes {
		p.Nodes = append(p.Nodes, topology.Node{Name: n.name, PodUID: n.uid, Address: n.address, WasSilent: wasSilent(n.address),
			RestartSettings: n.restartSettings, Outdated: n.restartSettings != p.Spec.RestartSettings(l.written)})
		p.servers[n.name] = wire.Open(n.address, l.secrets.Operator, nil, nil)
	}
	if rep := l.redis.Status.Replication; rep != nil && !slices.ContainsFunc(l.nodes,
		func(n *localServer) bool { return n.uid == rep.Master.PodUID }) {
		master := rep.Master
		p.Ghost = &topology.Node{Name: master.Name, PodUID: master.PodUID, Address: master.Address, WasSilent: wasSilent(master.Address)}
		p.ghostServer = wire.Open(master.Address, l.secrets.Operator, nil, nil)
	}
	l.addSource(p)
	p.ask(l.t.Context())
	p.takeSettings(l.written)
	p.fillFromMemory()
	return p
}

// pass is one of the operator's.
func (l *loopback) pass() topology.Verb {
	p := l.look()
	defer p.closeConnections()
	next := p.Situation().Plan()
	l.last = next
	switch next.Do {
	case topology.DeleteSilentPod:
		n := l.named(next.NodeNames[0])
		l.kill(n)
		l.start(n)
		return next.Do
	case topology.DeletePod:
		l.replace(l.named(next.NodeNames[0]))
		return next.Do
	}
	err := p.do(l.t.Context(), next)
	if err == nil && !next.Traits().Changes {
		err = p.WriteStamps(l.t.Context(), p.Situation().VolumesInSync())
	}
	if err != nil {
		l.t.Log(next, err)
	}
	p.memory.fillPasswords(&p.World, l.redis.Status.Nodes, p.Credentials, p.masterGivesDumps())
	p.RotatePasswords()
	l.secrets = p.Credentials
	p.TakeAcceptedSettings()
	l.written = p.Settings
	if p.IsRouteNew() {
		l.redis.Status.LastFailover.RoutedAt = p.microNow()
	}
	return next.Do
}

// until passes have made it true.
func (l *loopback) until(what string, holds func() bool) {
	l.t.Helper()
	limit := time.NewTimer(2 * replyTimeout)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			l.t.Fatalf("never came true: %s; the last step was %s (%s)", what, l.last, l.last.Message)
		}
	}
}

// heal passes until all is well.
func (l *loopback) heal() {
	l.t.Helper()
	l.until("all is well", func() bool { return l.pass() == topology.Idle })
}
