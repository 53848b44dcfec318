package redis

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// memory is what the operator may forget at any time: after a restart a freeze
// is waited out anew and the passwords are read from the Secrets.
type memory struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*remembered
	// news wakes the controller up when a watched server changes.
	news chan event.GenericEvent
}

type remembered struct {
	uid         types.UID
	frozenSince time.Time
	credentials credentials
	chosen      map[string]string // Secret name → application password
	watches     map[string]context.CancelFunc
}

// of gives the memory of one object, empty when it is another of the same name.
func (m *memory) of(redis *cachev1alpha1.Redis) *remembered {
	key := types.NamespacedName{Namespace: redis.Namespace, Name: redis.Name}
	if known := m.objects[key]; known != nil && known.uid == redis.UID {
		return known
	}
	m.drop(key)
	if m.objects == nil {
		m.objects = map[types.NamespacedName]*remembered{}
	}
	m.objects[key] = &remembered{uid: redis.UID, chosen: map[string]string{}, watches: map[string]context.CancelFunc{}}
	return m.objects[key]
}

func (m *memory) drop(key types.NamespacedName) {
	if known := m.objects[key]; known != nil {
		for _, stop := range known.watches {
			stop()
		}
		delete(m.objects, key)
	}
}

// forget an object that is gone, and stop watching its servers.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(key)
}

// frozen is how long every server that answers has followed nobody.
func (m *memory) frozen(redis *cachev1alpha1.Redis, w world, clock clock.PassiveClock) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(redis)
	answering := w.where(func(m member) bool { return m.Answer == node.Reached })
	fenced := w.where(member.Fenced)
	switch {
	case len(fenced) == 0 || len(fenced) < len(answering):
		known.frozenSince = time.Time{}
		return 0
	case known.frozenSince.IsZero():
		known.frozenSince = clock.Now()
	}
	return clock.Since(known.frozenSince)
}

// settle keeps the passwords that were found and makes those that were not,
// once: what is remembered wins, since the servers run with it.
func (m *memory) settle(redis *cachev1alpha1.Redis, found credentials) credentials {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &m.of(redis).credentials
	for _, one := range []struct {
		kept  *string
		found string
	}{{&c.application, found.application}, {&c.operator, found.operator}, {&c.replication, found.replication}} {
		switch {
		case *one.kept != "":
		case one.found != "":
			*one.kept = one.found
		default:
			*one.kept = rand.Text()
		}
	}
	return *c
}

// chosen gives the application password that was read from that Secret before.
func (m *memory) chosen(redis *cachev1alpha1.Redis, secret string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	password, ok := m.of(redis).chosen[secret]
	return password, ok
}

func (m *memory) choose(redis *cachev1alpha1.Redis, secret, password string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(redis).chosen[secret] = password
}

// watch exactly these addresses. A server's end is known here long before the
// API server hears of it.
func (m *memory) watch(ctx context.Context, redis *cachev1alpha1.Redis, addresses []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(redis)
	wanted := map[string]bool{}
	for _, address := range addresses {
		wanted[address] = true
		if known.watches[address] == nil {
			known.watches[address] = m.start(ctx, redis, address)
		}
	}
	for address, stop := range known.watches {
		if !wanted[address] {
			stop()
			delete(known.watches, address)
		}
	}
}

func (m *memory) start(ctx context.Context, redis *cachev1alpha1.Redis, address string) context.CancelFunc {
	ctx, stop := context.WithCancel(ctx)
	who := &cachev1alpha1.Redis{}
	who.Namespace, who.Name = redis.Namespace, redis.Name
	go node.Watch(ctx, address, func() {
		select {
		case m.news <- event.GenericEvent{Object: who}:
		case <-ctx.Done():
		}
	})
	return stop
}
