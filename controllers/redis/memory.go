package redis

import (
	"context"
	"crypto/tls"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// memory is what the operator may forget at any time: after a restart a fenced set waits
// for its whole time again, and the passwords are read from the Secrets.
type memory struct {
	converge.Memory[objectMemory]
	// events wakes the controller up when a watched server changes.
	events chan event.GenericEvent
	// leading ends when this process no longer leads. A pass's own context ends with that pass, and the watches that it
	// starts must not.
	leading context.Context
}

// noteLeading is a source of the controller. It has no events: it notes the context that the sources get, before the
// first pass.
func (m *memory) noteLeading(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	m.leading = ctx
	return nil
}

type objectMemory struct {
	fencedSince     time.Time
	cutOffSince     time.Time
	credentials     *config.Credentials
	lockedOut       bool                     // every server that answered last refused our password
	passwordReplies map[string]passwordReply // by run id
	watches         map[string]serverWatch   // by address
	contacts        map[string]contact       // by address
	writtenClaims   map[string]writtenClaim  // by name, while the cache may not show them
	published       config.Identity
	settings        config.Settings
	settingsReplies map[string]settingsReply         // by run id
	tlsConfig       *tls.Config                      // for the watches
	commands        map[string]topology.SentCommands // by run id

	masterConnection masterConnection // none with TLS
}

// serverWatch is the running watch of one server.
type serverWatch struct {
	interval time.Duration
	stop     context.CancelFunc
}

// contact is what is known of how one server answers.
type contact struct {
	lastReply     time.Time // when it last answered a watch or a pass
	wasSilent     bool      // it did not answer the last pass
	erroringSince time.Time // it has answered with errors only, such as BUSY, since; zero if it does not
	// awayAt is when a pass last got no answer, or an error; zero if none did.
	awayAt time.Time
}

// Init makes the maps.
func (known *objectMemory) Init() {
	*known = objectMemory{passwordReplies: map[string]passwordReply{},
		watches: map[string]serverWatch{}, contacts: map[string]contact{}, writtenClaims: map[string]writtenClaim{},
		settingsReplies: map[string]settingsReply{}, commands: map[string]topology.SentCommands{}}
}

// Drop stops watching the servers of an object that is gone.
func (known *objectMemory) Drop() {
	for _, one := range known.watches {
		one.stop()
	}
	if known.masterConnection.server != nil {
		known.masterConnection.server.Close()
	}
}

// trackFenced returns for how long every server that answers has been fenced.
func (m *memory) trackFenced(redis *cachev1alpha1.Redis, w topology.World, clock clock.PassiveClock) time.Duration {
	known, unlock := m.Lock(redis)
	defer unlock()
	answering := w.Count(func(m topology.Node) bool { return m.Answer == wire.Reached })
	fenced := w.Count(func(m topology.Node) bool { return m.Fenced() })
	return durationOf(&known.fencedSince, fenced > 0 && fenced >= answering, clock)
}

// trackCutOff returns for how long the master at the address has been cut off from its replicas; is says whether it is now.
// A master that was hung or busy until a moment ago has not pinged them yet.
func (m *memory) trackCutOff(redis *cachev1alpha1.Redis, master string, is bool, clock clock.PassiveClock) time.Duration {
	known, unlock := m.Lock(redis)
	defer unlock()
	if away := known.contacts[master].awayAt; !away.IsZero() && clock.Since(away) < topology.ReconnectTime {
		is = false
	}
	return durationOf(&known.cutOffSince, is, clock)
}

// durationOf returns for how long a state has held without a break, 0 if it does not hold. It keeps in since
// when the state began.
func durationOf(since *time.Time, is bool, clock clock.PassiveClock) time.Duration {
	switch {
	case !is:
		*since = time.Time{}
		return 0
	case since.IsZero():
		*since = clock.Now()
	}
	return clock.Since(*since)
}

// noteFollow notes that a replica was told to follow: it is yet to reach its master.
func (m *memory) noteFollow(redis *cachev1alpha1.Redis) {
	known, unlock := m.Lock(redis)
	defer unlock()
	known.cutOffSince = time.Time{}
}

// wasSilent reports whether the server at the address gave the last pass no answer.
func (m *memory) wasSilent(redis *cachev1alpha1.Redis, address string) bool {
	known, unlock := m.Lock(redis)
	defer unlock()
	return known.contacts[address].wasSilent
}

// trackSilence notes how a server answered, and returns for how long it has not
// answered by now. A server that never did is silent since it was first asked. One that was not asked, because its address was
// not confirmed, has neither answered nor been silent: only its watch can know more.
func (m *memory) trackSilence(redis *cachev1alpha1.Redis, address string, answer wire.Answer, now time.Time) time.Duration {
	known, unlock := m.Lock(redis)
	defer unlock()
	contacts := known.contacts
	one, met := contacts[address]
	if !met || answer != wire.Silent && answer != wire.Unconfirmed {
		one.lastReply = now
	}
	one.wasSilent = answer == wire.Silent
	contacts[address] = one
	return now.Sub(one.lastReply)
}

// trackAbsence notes whether the server at the address gave a full answer, and returns since when it has answered with errors
// only: it last answered otherwise then, or it was met then. It must be called before trackSilence, which notes the present answer.
func (m *memory) trackAbsence(redis *cachev1alpha1.Redis, address string, v wire.View, now time.Time) (erroringSince time.Time) {
	known, unlock := m.Lock(redis)
	defer unlock()
	one, met := known.contacts[address]
	if v.Answer != wire.Reached {
		one.awayAt = now
	}
	switch {
	case v.Answer == wire.Unconfirmed: // it was not asked
	case v.Answer != wire.ErrorReply:
		one.erroringSince = time.Time{}
	case one.erroringSince.IsZero() && met:
		one.erroringSince = one.lastReply
	case one.erroringSince.IsZero():
		one.erroringSince = now
	}
	if !met {
		one.lastReply = now
	}
	known.contacts[address] = one
	return one.erroringSince
}

// noteReply notes that the server has answered a watch. An object that was forgotten stays so.
func (m *memory) noteReply(key types.NamespacedName, uid types.UID, address string, behind map[string]int64, now time.Time) {
	known, unlock := m.LockKnown(key, uid)
	defer unlock()
	if known == nil {
		return
	}
	if one, met := known.contacts[address]; met {
		one.lastReply = now
		known.contacts[address] = one
	}
	if behind != nil {
		setLag(key, lagOfOwn(behind, known.contacts))
	}
}

// lagOfOwn leaves out addresses that are no server of the object: no text of a server's becomes a label.
func lagOfOwn(behind map[string]int64, asked map[string]contact) map[string]int64 {
	own := map[string]int64{}
	for address := range asked {
		if bytes, attached := behind[address]; attached {
			own[address] = bytes
		}
	}
	return own
}

// watchServers watches exactly the servers at these addresses. A watch knows of a server's end long before
// the API server does.
func (m *memory) watchServers(ctx context.Context, redis *cachev1alpha1.Redis, interval time.Duration, addresses []string, secure *tls.Config, clock clock.PassiveClock) {
	known, unlock := m.Lock(redis)
	defer unlock()
	known.tlsConfig = secure
	wanted := map[string]bool{}
	for _, address := range addresses {
		wanted[address] = true
		one, on := known.watches[address]
		if on && one.interval == interval {
			continue
		}
		if on {
			one.stop()
		}
		known.watches[address] = serverWatch{interval, m.startWatch(ctx, redis, interval, address, clock)}
	}
	for address, one := range known.watches {
		if !wanted[address] {
			one.stop()
			delete(known.watches, address)
			delete(known.contacts, address)
		}
	}
}

func (m *memory) startWatch(ctx context.Context, redis *cachev1alpha1.Redis, interval time.Duration, address string, clock clock.PassiveClock) context.CancelFunc {
	ctx, stop := context.WithCancel(log.IntoContext(m.leading, log.FromContext(ctx)))
	who := &cachev1alpha1.Redis{}
	who.Namespace, who.Name = redis.Namespace, redis.Name
	key, uid := types.NamespacedName{Namespace: redis.Namespace, Name: redis.Name}, redis.UID
	go wire.Watch(ctx, address, interval, wire.WatchHandler{
		TLSConfig: func() *tls.Config { return m.tlsConfig(key, uid) },
		OnReply: func(behind map[string]int64) {
			m.noteReply(key, uid, address, behind, clock.Now())
		},
		OnChange: func() {
			select {
			case m.events <- event.GenericEvent{Object: who}:
			case <-ctx.Done():
			}
		},
	})
	return stop
}
