package redis

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

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

// objectMemory is what is known of one object. It belongs to the object's pass, of which only one runs at a time. What the
// watches of its servers change as well has a lock.
type objectMemory struct {
	fencedSince     time.Time
	cutOffSince     time.Time
	credentials     *config.Credentials
	lockedOut       bool                     // every server that answered last refused our password
	passwordReplies map[string]passwordReply // by run id
	writtenClaims   map[string]writtenClaim  // by name, while the cache may not show them
	published       config.Identity          // what our own Secret holds, if this process wrote it
	settings        config.Settings
	settingsReplies map[string]settingsReply         // by run id
	commands        map[string]topology.SentCommands // by run id
	watches         map[string]serverWatch           // by address
	watched         watched

	masterConnection masterConnection // none with TLS
}

// Init makes the maps.
func (o *objectMemory) Init() {
	o.passwordReplies, o.settingsReplies = map[string]passwordReply{}, map[string]settingsReply{}
	o.writtenClaims, o.commands = map[string]writtenClaim{}, map[string]topology.SentCommands{}
	o.watches, o.watched.contacts = map[string]serverWatch{}, map[string]contact{}
}

// Drop stops watching the servers of an object that is gone.
func (o *objectMemory) Drop() {
	for _, watch := range o.watches {
		watch.stop()
	}
	o.watched.close()
	if o.masterConnection.server != nil {
		o.masterConnection.server.Close()
	}
}

// trackFenced returns for how long every server that answers has been fenced.
func (o *objectMemory) trackFenced(w topology.World, clock clock.PassiveClock) time.Duration {
	answering := w.Count(func(m topology.Node) bool { return m.Answer == wire.Reached })
	fenced := w.Count(func(m topology.Node) bool { return m.Fenced() })
	return durationOf(&o.fencedSince, fenced > 0 && fenced >= answering, clock)
}

// trackCutOff returns for how long the master at the address has been cut off from its replicas; is says whether it is now.
// A master that was hung or busy until a moment ago has not pinged them yet.
func (o *objectMemory) trackCutOff(master string, is bool, clock clock.PassiveClock) time.Duration {
	if away := o.watched.contactOf(master).awayAt; !away.IsZero() && clock.Since(away) < topology.ReconnectTime {
		is = false
	}
	return durationOf(&o.cutOffSince, is, clock)
}

// durationOf returns for how long a state has held without a break, 0 if it does not hold. It keeps in since
// when the state started.
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
