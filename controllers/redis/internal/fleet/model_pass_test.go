package fleet

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A played pass is the shipped plan and the shipped acts, whose every effect is a request
// to the caller that plays it.

// reading is what a pass reads of the API server before it looks at servers.
type reading struct {
	storage bool
	// snapshots is that of the model.
	snapshots bool
	nodes     int8
	record    savedRecord
	pods      [mostNodes]id
	stamps    [mostNodes]modelStamp

	source      id // pod that serves a backup
	sourceEnded bool
	asksNoGhost bool
}

func (m *model) read() reading {
	return reading{m.storage, m.snapshots, m.nodes, m.record, m.pods, m.stamps, m.source.pod, m.source.pod != 0 && !m.source.alive,
		m.asksNoGhost}
}

// operatorMemory is what an operator keeps from pass to pass, in classes of time: a moment ago,
// or longer than anything is waited for.
type operatorMemory struct {
	identity id
	servers  [mostNodes + 2]serverMemory
	fenced   age
	cutOff   age
}

type serverMemory struct {
	pod          id
	heard        age
	mute         bool
	othersKilled id // process there
	knowsLogin   id // process there that knows its login
}

type age uint8

const (
	never age = iota
	justNow
	longAgo
)

// present is when all passes are: between them, time goes by in classes.
var (
	present    = time.Unix(1_000_000, 0)
	modelClock = testingclock.NewFakePassiveClock(present)
)

func (a age) time() time.Time {
	switch a {
	case justNow:
		return present
	case longAgo:
		return present.Add(-time.Hour)
	}
	return time.Time{}
}

// maxAge is longer than anything is waited for.
const maxAge = time.Hour

func ageOf(t time.Time) age {
	switch {
	case t.IsZero():
		return never
	case t.Equal(present):
		return justNow
	}
	return longAgo
}

// modelPass is one pass, with who answers its requests.
type modelPass struct {
	ask         func(request) reply
	read        reading
	forced      bool
	expelled    []string // addresses
	fleet       *Fleet
	connections []connection
}

// connectionTo gives the connection to a pod's server.
func (m *modelPass) connectionTo(pod id) *connection {
	for i := range m.connections {
		if m.connections[i].pod == pod {
			return &m.connections[i]
		}
	}
	m.connections = append(m.connections, connection{pod: pod, redial: true})
	return &m.connections[len(m.connections)-1]
}

var quiet = log.IntoContext(context.Background(), logr.Discard())

type silentEvents struct{}

func (silentEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// newModelPass is what a pass starts from, once it has read the API server.
func newModelPass(read reading, ask func(request) reply) *modelPass {
	redis := read.record.object(read.storage)
	if read.snapshots {
		redis.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistRDB}
	}
	r := startOperator(modelClock)
	r.Events = silentEvents{}
	m := &modelPass{ask: ask, read: read, fleet: r.fleetOf(redis)}
	f := m.fleet
	f.effects, f.Credentials = m, config.Credentials{Replication: "key"}
	for n, pod := range read.pods[:read.nodes] {
		node := topology.Node{Name: nodeNames[n], PodUID: podUID(pod), Address: address(pod)}
		f.Nodes = append(f.Nodes, node)
		f.servers[node.Name] = modelServer{m, int8(n), pod} //nolint:gosec // a few
	}
	if rep := f.Redis.Status.Replication; rep != nil && !slices.Contains(read.pods[:], read.record.recordedMaster.pod) {
		f.Ghost = &topology.Node{Name: rep.Master.Name, PodUID: rep.Master.PodUID, Address: rep.Master.Address}
		ghost := modelServer{m, read.record.recordedMasterNode, read.record.recordedMaster.pod}
		if f.ghostServer, f.Ghost.Unasked = ghost, read.asksNoGhost; read.asksNoGhost {
			f.ghostServer = knockedServer{ghost}
		}
	}
	if f.Source = sourceOf(read); f.Source != nil {
		f.sourceServer = modelServer{m, operatorSide, read.source}
	}
	if read.storage {
		f.Volumes = map[string]topology.Volume{}
		for n := range read.nodes {
			f.Volumes[nodeNames[n]] = topology.Volume{Stamp: read.stamps[n].stamp()}
		}
	}
	return m
}

// direct is a pass whose requests are answered at once. No other operator is connected.
func (m *model) direct() *Fleet {
	var played *modelPass
	played = newModelPass(m.read(), func(q request) reply { return m.answer(q, &played.read) })
	played.fleet.ask(quiet)
	for _, node := range played.fleet.addressable() {
		node.OthersKilled = true
	}
	return played.fleet
}

// playPass plays one pass, and gives what it did and what the operator knows after it.
func playPass(read reading, known operatorMemory, ask func(request, *reading) reply) (topology.Step, operatorMemory, error) {
	var m *modelPass
	m = newModelPass(read, func(q request) reply { return ask(q, &m.read) })
	f := m.fleet
	f.operator.Identity = operatorName(known.identity)
	known.recall(f.memory)
	f.ask(quiet)
	f.takeSettings(config.Settings{})
	f.fillFromMemory()
	f.SinceRouted = time.Hour
	for i := range f.Nodes { // settings, passwords and logins have tests of their own
		node := &f.Nodes[i]
		node.PasswordsUnknown, node.SettingsUnknown = false, false
	}
	planned := f.Situation().Plan()
	m.forced = planned.Unsafe
	if planned.Do == topology.ExpelUnrecorded {
		m.expelled = planned.NodeNames
	}
	next, err := f.execute(quiet, planned)
	if err == nil {
		if err = m.route(); err == nil && f.IsRouteNew() {
			err = f.NoteRouted(quiet)
		}
	}
	if err == nil && !next.Traits().Changes {
		err = f.WriteStamps(quiet, f.Situation().VolumesInSync())
	}
	if left := recordOf(f.Redis, m.read.record); left != m.read.record { // converge saves what a pass leaves, also one that failed
		err = errors.Join(err, f.effects.Save(quiet))
	}
	return next, operatorMemoryOf(f, read), err
}

func (o operatorMemory) recall(known *Memory) {
	known.fencedSince, known.cutOffSince = o.fenced.time(), o.cutOff.time()
	for _, server := range o.servers {
		if server.pod != 0 {
			known.watched.contacts[address(server.pod)] = contact{lastReply: server.heard.time(), wasSilent: server.mute}
			if server.othersKilled != 0 {
				known.noteOthersKilled(runID(server.othersKilled))
			}
			if server.knowsLogin != 0 {
				known.noteLoginSent(runID(server.knowsLogin), modelClock.Now())
			}
		}
	}
}

func operatorMemoryOf(f *Fleet, read reading) operatorMemory {
	known := f.memory
	after := operatorMemory{identity: idIn(f.operator.Identity), fenced: ageOf(known.fencedSince), cutOff: ageOf(known.cutOffSince)}
	for i, pod := range append(slices.Clone(read.pods[:read.nodes]), read.record.recordedMaster.pod, read.source) {
		if seen, met := known.watched.contacts[address(pod)]; met &&
			!slices.ContainsFunc(after.servers[:], func(a serverMemory) bool { return a.pod == pod }) {
			after.servers[i] = serverMemory{pod: pod, heard: ageOf(seen.lastReply), mute: seen.wasSilent}
			for _, m := range f.addressable() {
				if m.Address != address(pod) || m.RunID == "" {
					continue
				}
				if known.commands[m.RunID].OthersKilled {
					after.servers[i].othersKilled = idIn(m.RunID)
				}
				if known.commands[m.RunID].LoginSent {
					after.servers[i].knowsLogin = idIn(m.RunID)
				}
			}
		}
	}
	return after
}

func (m *modelPass) send(q request) error {
	if m.ask(q).failed {
		return errNoAnswer
	}
	return nil
}

func (m *modelPass) Save(context.Context) error {
	return m.send(request{modelCommand: modelCommand{effect: saveEffect}, record: recordOf(m.fleet.Redis, m.read.record)})
}

func (m *modelPass) CheckUnchanged(context.Context) error {
	return m.send(request{modelCommand: modelCommand{effect: unchangedEffect}})
}

func (m *modelPass) CheckStamps(context.Context) error {
	return m.send(request{modelCommand: modelCommand{effect: stampsUnchangedEffect}})
}

func (m *modelPass) WriteStamp(_ context.Context, name string, s topology.Stamp) error {
	m.fleet.Volumes[name] = topology.Volume{Stamp: s}
	return m.send(request{modelCommand: modelCommand{effect: stampEffect}, node: int8(config.Ordinal(name)),
		label: modelStampOf(s)}) //nolint:gosec // a few
}

func (m *modelPass) DeletePod(_ context.Context, name string, _ ...ctrlclient.DeleteOption) error {
	n := int8(config.Ordinal(name)) //nolint:gosec // a few
	node, _ := m.fleet.Find(name)
	return m.send(request{modelCommand: modelCommand{effect: removeEffect}, node: n, pod: m.read.pods[n], ofBusy: node.IsBusy()})
}

func (m *modelPass) CreateSource(context.Context) error {
	return m.send(request{modelCommand: modelCommand{effect: createSourceEffect}})
}

func (m *modelPass) DeleteSource(context.Context) error {
	return m.send(request{modelCommand: modelCommand{effect: deleteSourceEffect}, pod: m.read.source})
}

// route leads the clients to the recorded master, if there is one.
func (m *modelPass) route() error {
	if m.fleet.Redis.Status.Master == "" {
		return nil
	}
	return m.send(request{modelCommand: modelCommand{effect: routeEffect},
		node: int8(config.Ordinal(m.fleet.Redis.Status.Master))}) //nolint:gosec // a few
}

func (*modelPass) RunAll(_ context.Context, all []func()) {
	for _, run := range all {
		run()
	}
}

// awaitRetry is over at once: what happens meanwhile, happens before the look as well.
func (*modelPass) AwaitRetry(context.Context) error { return context.DeadlineExceeded }
