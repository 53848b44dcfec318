package fleet

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// Memory is what earlier passes over one object have left, and what the operator may forget at any time: after a restart a fenced
// Redis waits for its whole time again, and the passwords are read from the Secrets. It belongs to the object's pass, of which only one
// runs at a time. What the watches of its servers change as well has a lock.
type Memory struct {
	// Published is what our own Secret holds, if this process wrote it.
	Published config.Identity
	// Settings are those that the servers have accepted, none if this process does not know.
	Settings config.Settings

	fencedSince     time.Time
	cutOffSince     time.Time
	credentials     *config.Credentials
	lockedOut       bool                             // every server that answered last refused our password
	passwordReplies map[string]passwordReply         // by run id
	settingsReplies map[string]settingsReply         // by run id
	commands        map[string]topology.SentCommands // by run id
	watches         map[string]serverWatch           // by address
	watched         watched

	masterConnection masterConnection // none with TLS
}

// Init prepares an empty memory.
func (m *Memory) Init() {
	m.passwordReplies, m.settingsReplies = map[string]passwordReply{}, map[string]settingsReply{}
	m.commands, m.watches, m.watched.contacts = map[string]topology.SentCommands{}, map[string]serverWatch{}, map[string]contact{}
}

// Drop stops watching the servers of an object that is gone, and closes the kept connection.
func (m *Memory) Drop() {
	for _, watch := range m.watches {
		watch.stop()
	}
	m.watched.close()
	if m.masterConnection.server != nil {
		m.masterConnection.server.Close()
	}
}

// trackFenced returns for how long every server that answers has been fenced.
func (m *Memory) trackFenced(w topology.World, clock clock.PassiveClock) time.Duration {
	answering := w.Count(func(n topology.Node) bool { return n.Answer == wire.Reached })
	fenced := w.Count(topology.Node.Fenced)
	return durationOf(&m.fencedSince, fenced > 0 && fenced >= answering, clock)
}

// trackCutOff returns for how long the master at the address has been cut off from its replicas; isCutOff says whether it
// is now. A master that was hung or busy until a moment ago has not pinged them yet.
func (m *Memory) trackCutOff(master string, isCutOff bool, clock clock.PassiveClock) time.Duration {
	if away := m.watched.contactOf(master).awayAt; !away.IsZero() && clock.Since(away) < topology.ReconnectTime {
		isCutOff = false
	}
	return durationOf(&m.cutOffSince, isCutOff, clock)
}

// durationOf returns for how long a state has held without a break, 0 if it does not hold. It keeps in since
// when the state started.
func durationOf(since *time.Time, holds bool, clock clock.PassiveClock) time.Duration {
	switch {
	case !holds:
		*since = time.Time{}
		return 0
	case since.IsZero():
		*since = clock.Now()
	}
	return clock.Since(*since)
}
