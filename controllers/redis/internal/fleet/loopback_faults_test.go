package fleet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// What goes wrong around the servers of a loopback, and what applications hear meanwhile.

// lenient masters count a replica that does not answer for as long as a test may last.
func lenient(r *cachev1alpha1.Redis) {
	r.Spec.Durability = &cachev1alpha1.RedisDurability{MaxLagSeconds: ptr.To[int32](300)}
}

// impatient sets take a silent master for lost after a moment.
func impatient(r *cachev1alpha1.Redis) {
	r.Spec.Failover = &cachev1alpha1.RedisFailureDetection{ProbeIntervalMillis: ptr.To[int32](200)}
	r.Spec.Durability = &cachev1alpha1.RedisDurability{MaxLagSeconds: ptr.To[int32](1)}
}

// succeed the operator by one that knows only what was saved.
func (l *loopback) succeed() { l.running = startOperator(clock.RealClock{}) }

// savedState is what the API server holds in addition to the spec.
type savedState struct {
	status  cachev1alpha1.RedisStatus
	volumes map[string]topology.Volume
}

func (l *loopback) backup() savedState {
	return savedState{*l.redis.Status.DeepCopy(), maps.Clone(l.volumes)}
}

// restore the API server from a backup, and start the operator again.
func (l *loopback) restore(b savedState) {
	l.redis.Status, l.volumes = *b.status.DeepCopy(), maps.Clone(b.volumes)
	l.succeed()
}

// orphan the process of a node: its pod was deleted by force and another one takes its place,
// which the operator knows alone. The process lives on.
func (l *loopback) orphan(n *localServer) *localServer {
	l.t.Helper()
	ghost := *n
	l.t.Cleanup(func() { l.kill(&ghost) })
	n.uid, n.address, n.dir = n.uid+types.UID("-again"), l.address(), l.t.TempDir()
	l.mount(n)
	l.start(n)
	return &ghost
}

// suspend stops servers, and returns once they stand still.
func (l *loopback) suspend(nodes ...*localServer) {
	l.t.Helper()
	for _, n := range nodes {
		l.signal(n, syscall.SIGSTOP)
		l.until(n.name+" stands still", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.command.Process.Pid))
			return err == nil && strings.Contains(string(stat), ") T ")
		})
	}
}

func (l *loopback) resume(nodes ...*localServer) {
	l.t.Helper()
	for _, n := range nodes {
		l.signal(n, syscall.SIGCONT)
	}
}

// without gives the nodes but these.
func (l *loopback) without(these ...*localServer) []*localServer {
	return slices.DeleteFunc(slices.Clone(l.nodes), func(n *localServer) bool { return slices.Contains(these, n) })
}

// cut the link of a replica, which tries to reach its master again and again as after a
// partition, and succeeds from the moment on that it is repaired.
func (l *loopback) cut(replica *localServer) (repair func()) {
	l.t.Helper()
	const login = "masterauth"
	c := l.operator(replica)
	right := c.ConfigGet(l.t.Context(), login).Val()[login]
	if err := errors.Join(c.ConfigSet(l.t.Context(), login, "wrong").Err(),
		c.Do(l.t.Context(), "CLIENT", "KILL", "TYPE", "master").Err()); err != nil {
		l.t.Fatal(err)
	}
	l.until("the link is down", func() bool { return !l.linked(replica) })
	return func() {
		l.t.Helper()
		if err := c.ConfigSet(l.t.Context(), login, right).Err(); err != nil {
			l.t.Fatal(err)
		}
	}
}

// lag has these replicas lag for good behind what is confirmed from now on: they stand still, and
// their master's write to them fills all that the kernel would yet bring them when it is dead.
func (l *loopback) lag(nodes ...*localServer) {
	l.t.Helper()
	l.suspend(nodes...)
	c := l.client(l.master())
	if err := c.Set(l.t.Context(), "filler", strings.Repeat("x", 32<<20), 0).Err(); err != nil {
		l.t.Fatal(err)
	}
}
