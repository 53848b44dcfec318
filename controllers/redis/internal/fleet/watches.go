package fleet

import (
	"context"
	"crypto/tls"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// Watching is what the watches of all servers of this operator share.
type Watching struct {
	// Wakeups wakes the controller up when a watched server changes.
	Wakeups chan event.GenericEvent
	// SetLag sets by how many bytes the replicas of an object are behind their master, by address. It is never called after
	// the object is gone, and returns at once.
	SetLag func(object types.NamespacedName, behind map[string]int64)

	// leading ends when this process no longer leads. A pass's own context ends with that pass, and the watches that it
	// starts must not.
	leading context.Context
}

// NoteLeading is a source of the controller. It has no events: it notes the context that the sources get, before the
// first pass.
func (w *Watching) NoteLeading(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.leading = ctx
	return nil
}

// serverWatch is the running watch of one server.
type serverWatch struct {
	interval time.Duration
	stop     context.CancelFunc
}

// watched is what a pass shares with the watches of its object's servers.
type watched struct {
	mu       sync.Mutex
	contacts map[string]contact // by address
	secure   *tls.Config        // with which a watch connects
	isClosed bool               // the object is gone
}

// contact is what is known of how one server answers.
type contact struct {
	lastReply     time.Time // when it last answered a watch or a pass
	wasSilent     bool      // it did not answer the last pass
	erroringSince time.Time // it has answered with errors only, such as BUSY, since; zero if it does not
	// awayAt is when a pass last got no answer, or an error; zero if none did.
	awayAt time.Time
}

func (w *watched) contactOf(address string) contact {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.contacts[address]
}

// trackSilence notes how a server answered, and returns for how long it has not
// answered by now. A server that never did is silent since it was first asked. One that was not asked, because its address was
// not confirmed, has neither answered nor been silent: only its watch can know more.
func (w *watched) trackSilence(address string, answer wire.Answer, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, met := w.contacts[address]
	if !met || answer != wire.Silent && answer != wire.Unconfirmed {
		c.lastReply = now
	}
	c.wasSilent = answer == wire.Silent
	w.contacts[address] = c
	return now.Sub(c.lastReply)
}

// trackAbsence notes whether the server at the address gave a full answer, and returns since when it has answered with errors
// only: it last answered otherwise then, or it was met then. It must be called before trackSilence, which notes the present answer.
func (w *watched) trackAbsence(address string, v wire.View, now time.Time) (erroringSince time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, met := w.contacts[address]
	if v.Answer != wire.Reached {
		c.awayAt = now
	}
	switch {
	case v.Answer == wire.Unconfirmed: // it was not asked
	case v.Answer != wire.ErrorReply:
		c.erroringSince = time.Time{}
	case c.erroringSince.IsZero() && met:
		c.erroringSince = c.lastReply
	case c.erroringSince.IsZero():
		c.erroringSince = now
	}
	if !met {
		c.lastReply = now
	}
	w.contacts[address] = c
	return c.erroringSince
}

// noteReply notes that the server has answered a watch. It notes nothing of an object that is gone.
func (w *watched) noteReply(address string, behind map[string]int64, now time.Time, setLag func(map[string]int64)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isClosed {
		return
	}
	if c, met := w.contacts[address]; met {
		c.lastReply = now
		w.contacts[address] = c
	}
	if behind != nil {
		setLag(lagOfOwn(behind, w.contacts))
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

// tlsConfig returns the config with which a watch connects now.
func (w *watched) tlsConfig() *tls.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.secure
}

func (w *watched) setTLSConfig(secure *tls.Config) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secure = secure
}

func (w *watched) forget(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.contacts, address)
}

// close has later replies ignored: the metrics of the object are dropped next.
func (w *watched) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isClosed, w.secure = true, nil
}

// watchServers watches exactly the servers that can be asked. A watch knows of a server's end long before
// the API server does.
func (f *Fleet) watchServers(ctx context.Context) {
	watches, interval := f.memory.watches, f.Spec.ProbeInterval
	f.memory.watched.setTLSConfig(f.Certificates.TLSConfig)
	wanted := map[string]bool{}
	for _, address := range f.addresses() {
		wanted[address] = true
		watch, on := watches[address]
		if on && watch.interval == interval {
			continue
		}
		if on {
			watch.stop()
		}
		watches[address] = serverWatch{interval, f.startWatch(ctx, address)}
	}
	for address, watch := range watches {
		if !wanted[address] {
			watch.stop()
			delete(watches, address)
			f.memory.watched.forget(address)
		}
	}
}

func (f *Fleet) startWatch(ctx context.Context, address string) context.CancelFunc {
	ctx, stop := context.WithCancel(log.IntoContext(f.operator.Watching.leading, log.FromContext(ctx)))
	object := &cachev1alpha1.Redis{}
	object.Namespace, object.Name = f.Redis.Namespace, f.Redis.Name
	key, now, watched, watching := ctrlclient.ObjectKeyFromObject(object), f.operator.Clock.Now, &f.memory.watched, f.operator.Watching
	setLag := func(behind map[string]int64) { watching.SetLag(key, behind) }
	go wire.Watch(ctx, address, f.Spec.ProbeInterval, wire.WatchHandler{
		TLSConfig: watched.tlsConfig,
		OnReply:   func(behind map[string]int64) { watched.noteReply(address, behind, now(), setLag) },
		OnChange: func() {
			select {
			case watching.Wakeups <- event.GenericEvent{Object: object}:
			case <-ctx.Done():
			}
		},
	})
	return stop
}
