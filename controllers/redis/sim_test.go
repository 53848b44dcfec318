package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// The simulator runs the real plan and the real acts against servers that live,
// replicate, take writes and die between any two commands, under an operator
// that crashes between any two of them.

var (
	errDown = errors.New("no answer")
	errGone = errors.New("another object of this name")
)

// process is one simulated redis-server.
type process struct {
	sim     *sim
	name    string
	podUID  types.UID
	address string
	runID   string

	alive       bool
	silent      bool      // the operator cannot reach it, its clients can
	hung        bool      // stopped: nobody reaches it, and it remembers all when it wakes
	heard       time.Time // from its master
	master      bool
	host        string   // whom it follows
	link        *process // and hears
	replID      string
	log         []int
	forgotten   int // writes from before its start, which its offset does not count
	minReplicas int32
	appends     bool // to its file, as the file that it started from says
}

// sim is a set of them, with what their clients were promised.
type sim struct {
	t         *testing.T
	rand      *rand.Rand
	persists  bool
	r         *Reconciler
	redis     *cachev1alpha1.Redis // as saved
	pods      []*process           // behind pod objects
	ghosts    []*process           // without
	volumes   map[string]volume    // by node
	disks     map[string][]int     // of volumes that no pod uses
	owed      bool                 // by a set that begins again: the volume of the master before has all
	made      int
	confirmed []int
	pending   map[int]*process // who took the write
	doom      int              // commands until the operator crashes
	calm      bool             // nothing happens between two commands any more
	told      bool             // history is written down
	history   []string
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{t: t, rand: rand.New(rand.NewPCG(seed, 7)), r: &Reconciler{clock: clock.RealClock{}}, redis: &cachev1alpha1.Redis{}, pending: map[int]*process{},
		volumes: map[string]volume{}, disks: map[string][]int{}}
	s.persists = s.rand.IntN(2) == 0
	s.create()
	return s
}

// create makes the object, and its pods on what volumes there are.
func (s *sim) create() {
	size := int32(2 + s.rand.IntN(4))
	s.redis = &cachev1alpha1.Redis{}
	s.redis.Name, s.redis.UID, s.redis.Spec.Size = "a", types.UID(s.unique("object")), ptr.To(size)
	if s.persists {
		s.redis.Spec.Storage = &cachev1alpha1.RedisStorage{}
	}
	if size > 2 && s.rand.IntN(3) == 0 {
		s.redis.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
	}
	s.scale()
}

// scale is the StatefulSet's part: as many pods as there must be, and no more.
func (s *sim) scale() {
	count := pods(s.redis, world{volumes: s.volumes})
	for n := range count {
		name := nodeName(s.redis, n)
		if slices.ContainsFunc(s.pods, func(p *process) bool { return p.name == name }) {
			continue
		}
		s.pods = append(s.pods, s.start(name, s.disks[name]))
		delete(s.disks, name)
		if _, ok := s.volumes[name]; !ok && s.persists {
			s.volumes[name] = volume{}
		}
	}
	s.pods = slices.DeleteFunc(s.pods, func(p *process) bool {
		surplus := ordinal(p.name) >= count
		if surplus {
			s.leave(p)
		}
		return surplus
	})
}

// leave the volume of a pod that goes.
func (s *sim) leave(p *process) {
	if p.alive {
		s.kill(p)
	}
	if s.persists {
		s.disks[p.name] = p.log
	}
}

// again deletes the object and makes another of its name on the same volumes.
func (s *sim) again() {
	if !s.persists || s.redis.Status.Replication == nil {
		return
	}
	s.note("deleted: %+v", s.volumes)
	for _, p := range s.all() {
		s.leave(p)
	}
	s.pods, s.ghosts = nil, nil
	last := s.disks[s.redis.Status.Replication.Master.Name]
	s.owed = !slices.ContainsFunc(s.confirmed, func(n int) bool { return !slices.Contains(last, n) })
	s.create()
	s.note("made anew, of size %d", *s.redis.Spec.Size)
}

func (s *sim) unique(prefix string) string { s.made++; return prefix + strconv.Itoa(s.made) }

func (s *sim) start(name string, log []int) *process {
	return &process{sim: s, name: name, podUID: types.UID(s.unique("uid")), address: s.unique("10.0.0."), runID: s.unique("run"),
		alive: true, appends: s.persists, host: node.FenceHost, replID: s.unique("history"), log: log, forgotten: len(log)}
}

// note what happens, when the run is told: what never failed needs no words.
func (s *sim) note(format string, args ...any) {
	if s.told {
		s.history = append(s.history, fmt.Sprintf(format, args...))
	}
}

// failed is what a run ends with that is not told yet.
type failed struct{}

func (s *sim) fail(format string, args ...any) {
	if !s.told {
		panic(failed{})
	}
	s.t.Fatalf("%s, after:\n%s", fmt.Sprintf(format, args...), strings.Join(s.history, "\n"))
}

// step of the operator's: it may crash here, and the world goes on.
func (p *process) obeys() error {
	s := p.sim
	if s.doom--; s.doom == 0 {
		return errDown
	}
	if !s.calm && s.rand.IntN(4) == 0 {
		s.happen()
	}
	if !p.alive || p.silent || p.hung {
		return errDown
	}
	return nil
}

func (p *process) Look(context.Context) node.View {
	switch {
	case p.obeys() == nil:
	case !p.alive:
		return node.View{Answer: node.Refused}
	default:
		return node.View{}
	}
	v := node.View{Answer: node.Reached, RunID: p.runID, Master: p.master, MasterHost: p.host, LinkUp: p.link != nil,
		LastIO: time.Since(p.heard), ReplID: p.replID, Offset: int64(len(p.log) - p.forgotten), Keys: int64(len(p.log)), MinReplicas: p.minReplicas,
		AOF: p.appends, Rewritten: true}
	for _, f := range p.followers() {
		v.Attached = append(v.Attached, f.address)
	}
	return v
}

func (p *process) Fence(context.Context) error { return p.Follow(context.Background(), node.FenceHost) }

func (p *process) Follow(_ context.Context, address string) error {
	if err := p.obeys(); err != nil {
		return err
	}
	p.sim.note("%s follows %s", p.runID, address)
	if address != node.FenceHost { // joining another's history, it can feed nobody the old one
		p.sim.cut(p)
	}
	if p.host != address || p.master {
		p.link = nil
	}
	p.master, p.host = false, address
	return nil
}

func (p *process) Promote(_ context.Context, w int32) error {
	if err := p.obeys(); err != nil {
		return err
	}
	p.sim.note("%s is promoted", p.runID)
	p.sim.cut(p)
	p.master, p.host, p.link, p.minReplicas, p.replID = true, "", nil, w, p.sim.unique("history")
	if last := p.sim.redis.Status.LastFailover; last.Reason != "Recovering" && last.Reason != "DatasetLost" {
		p.sim.hasAll(p)
	} else { // what nobody has any more cannot be asked for
		if p.sim.owed {
			p.sim.hasAll(p)
		}
		p.sim.confirmed = slices.Clone(p.log)
	}
	p.sim.owed = false
	for name, v := range p.sim.volumes {
		if v.epoch >= p.sim.redis.Status.Epoch {
			p.sim.fail("epoch %d is on %s already", v.epoch, name)
		}
	}
	return nil
}

func (p *process) SetMinReplicas(_ context.Context, n int32) error {
	p.minReplicas = n
	return p.obeys()
}
func (p *process) Pause(context.Context, time.Duration) error { return p.obeys() }
func (p *process) Unpause(context.Context) error              { return p.obeys() }
func (p *process) SendAway(context.Context) error             { return p.obeys() }
func (p *process) Outrank(context.Context) error              { return p.obeys() }
func (p *process) Accept(context.Context, string, ...string) error {
	return p.obeys()
}
func (p *process) Configure(context.Context, string, string) error { return p.obeys() }
func (p *process) Save(context.Context) error                      { return p.obeys() }
func (p *process) Close()                                          {}

func (p *process) Load(context.Context, node.Files) (bool, error) { return true, p.obeys() }

func (s *sim) all() []*process { return slices.Concat(s.pods, s.ghosts) }

func (s *sim) at(address string) *process {
	for _, some := range [][]*process{s.pods, s.ghosts} {
		for _, p := range some {
			if p.alive && p.address == address {
				return p
			}
		}
	}
	return nil
}

func (p *process) followers() []*process {
	var list []*process
	for _, some := range [][]*process{p.sim.pods, p.sim.ghosts} {
		for _, f := range some {
			if f.alive && f.link == p {
				list = append(list, f)
			}
		}
	}
	return list
}

func (s *sim) cut(p *process) {
	for _, f := range p.followers() {
		f.link = nil
	}
}

func (s *sim) hasAll(p *process) {
	for _, n := range s.confirmed {
		if !slices.Contains(p.log, n) {
			s.fail("%s lacks the confirmed write %d", p.runID, n)
		}
	}
}

// happen lets one thing happen that the operator has no say in.
func (s *sim) happen() {
	all := s.all()
	if len(all) == 0 { // all sleep
		s.wake(true)
		return
	}
	p := all[s.rand.IntN(len(all))]
	switch roll := s.rand.IntN(100); {
	case roll < 45:
		s.replicate(p)
	case roll < 85:
		s.write(p)
	case roll < 89:
		s.kill(p)
	case roll < 94:
		s.restart(p)
	case roll < 96:
		s.orphan(p)
	case roll < 97:
		p.silent = !p.silent
	case roll < 98:
		p.hung = p.alive && !p.hung
		s.note("%s is stopped: %t", p.runID, p.hung)
	case roll < 99:
		<-time.After(time.Second)
	case s.rand.IntN(2) == 0:
		s.wake(s.redis.Spec.Hibernate)
	default:
		s.again()
	}
}

// wake is asked for, or the opposite.
func (s *sim) wake(up bool) {
	s.note("awake: %t", up)
	s.redis.Spec.Hibernate = s.persists && !up
	s.scale()
}

// write as a client does that confirms by WAIT, once the followers have it.
func (s *sim) write(p *process) {
	if p.alive && !p.hung && p.master && len(p.followers()) >= int(p.minReplicas) {
		s.made++
		p.log = append(p.log, s.made)
		s.pending[s.made] = p
	}
}

func (s *sim) replicate(p *process) {
	m := s.at(p.host)
	switch {
	case p.hung:
		return
	case !p.alive || p.master || m == nil:
		p.link = nil
		return
	case m.hung: // the connection stands
		return
	case p.link == m:
		p.heard = time.Now()
		if len(p.log) < len(m.log) {
			p.log = append(p.log, m.log[len(p.log)])
		}
	case m.master && (s.calm || s.rand.IntN(2) == 0):
		p.heard = time.Now()
		p.link, p.replID, p.log, p.forgotten = m, m.replID, slices.Clone(m.log), m.forgotten
	}
	s.confirm(m)
}

func (s *sim) confirm(m *process) {
	w := 1
	if d := s.redis.Spec.Durability; d != nil {
		w = int(*d.MinReplicasToWrite)
	}
	for n, taker := range s.pending {
		having := slices.DeleteFunc(m.followers(), func(f *process) bool { return !slices.Contains(f.log, n) })
		if taker == m && m.master && len(having) >= w {
			s.note("%d confirmed by %s of %s", n, having[0].runID, m.runID)
			s.confirmed = append(s.confirmed, n)
			delete(s.pending, n)
		}
	}
}

func (s *sim) kill(p *process) {
	s.note("%s dies", p.runID)
	s.cut(p)
	p.alive, p.link, p.silent, p.hung = false, nil, false, false
	s.ghosts = slices.DeleteFunc(s.ghosts, func(g *process) bool { return g == p })
}

func (s *sim) restart(p *process) {
	if p.alive || slices.Contains(s.ghosts, p) {
		return
	}
	if !s.persists {
		p.log = nil
	}
	p.alive, p.runID, p.replID, p.master, p.host, p.minReplicas = true, s.unique("run"), s.unique("history"), false, node.FenceHost, 0
	p.log, p.forgotten = slices.Clone(p.log), len(p.log)
	s.note("%s starts as %s", p.name, p.runID)
}

// orphan deletes a pod by force: its process goes on without it, and a new pod
// of the name starts elsewhere.
func (s *sim) orphan(p *process) {
	i := slices.Index(s.pods, p)
	if i < 0 {
		return
	}
	s.note("%s loses its pod", p.runID)
	if p.alive && !p.master { // its preStop has nothing to wait for
		s.kill(p)
	}
	if p.alive {
		s.ghosts = append(s.ghosts, p)
	}
	var log []int
	if s.persists && !p.alive { // a volume follows its only user
		log = slices.Clone(p.log)
	}
	s.pods[i] = s.start(p.name, log) // else it starts elsewhere, on an empty one
}

// pass is one pass of an operator that may crash on its way.
func (s *sim) pass(doom int) verb {
	s.doom = 0 // looking does not crash
	ctx := context.Background()
	redis := s.redis.DeepCopy()
	f := &fleet{servers: make(map[string]server, len(s.pods)), open: s.open}
	f.members = make([]member, 0, len(s.pods))
	f.sinceRouted = time.Hour
	for _, p := range s.pods {
		f.members = append(f.members, member{name: p.name, podUID: p.podUID, address: p.address})
		f.servers[p.name] = p
	}
	if rep := redis.Status.Replication; rep != nil && !slices.ContainsFunc(s.pods, func(p *process) bool { return p.podUID == rep.Master.PodUID }) {
		f.ghost = &member{name: rep.Master.Name, podUID: rep.Master.PodUID, address: rep.Master.Address}
		f.ghostServer = s.open(rep.Master.Address)
	}
	f.volumes = maps.Clone(s.volumes)
	f.stamp = func(_ context.Context, name string, is stamp) error {
		if s.doom--; s.doom == 0 {
			return errDown
		}
		s.note("%s bears %+v", name, is)
		s.volumes[name], f.volumes[name] = volume{stamp: is}, volume{stamp: is}
		return nil
	}
	s.lookAt(f)
	f.keys = credentials{wanted: login{password: "of the applications"}}
	s.r.remember(redis, f)
	f.begin(redis, settings{})
	next := plan(redis, f.world)
	s.note("plan: %s %s", next, next.why)
	s.doom = doom
	if next.do == evict {
		s.evict(next.nodes[0])
		return next.do
	}
	err := s.r.act(ctx, redis, f, next, func(context.Context) error {
		if s.doom--; s.doom == 0 {
			return errDown
		}
		if s.redis.UID != redis.UID {
			return errGone
		}
		if s.redis.Status.Epoch > redis.Status.Epoch {
			s.fail("the epoch fell")
		}
		if to := redis.Status.Master; to != s.redis.Status.Master && !slices.ContainsFunc(s.all(), func(p *process) bool { return p.name == to && p.master }) {
			s.fail("routed to %s, which is no master", to)
		}
		if s.redis.Status.Replication != nil && redis.Status.Replication == nil {
			s.note("nobody is master")
			s.owed = true
		}
		spec := s.redis.Spec
		s.redis = redis.DeepCopy()
		s.redis.Spec = spec
		return nil
	})
	if err == nil && !next.changes() {
		_ = putStamps(ctx, redis, f, vouched(redis, f.world))
	}
	s.doom = 0
	s.scale()
	return next.do
}

// open a connection to whoever has the address.
func (s *sim) open(address string) server {
	if p := s.at(address); p != nil {
		return p
	}
	return &process{sim: s, address: address}
}

// evict kills the process and starts its pod anew.
func (s *sim) evict(name string) {
	i := slices.IndexFunc(s.pods, func(p *process) bool { return p.name == name })
	s.kill(s.pods[i])
	s.orphan(s.pods[i])
}

// lookAt asks one after the other: the order of a run must not depend on chance.
func (s *sim) lookAt(f *fleet) {
	for i := range f.members {
		f.members[i].View = f.servers[f.members[i].name].Look(context.Background())
	}
	if f.ghost != nil {
		f.ghost.View = f.ghostServer.Look(context.Background())
	}
}

func (s *sim) run(events int) {
	for range events {
		if s.rand.IntN(3) > 0 {
			s.happen()
			continue
		}
		doom := 0
		if s.rand.IntN(5) == 0 {
			doom = 1 + s.rand.IntN(8)
		}
		s.pass(doom)
	}
	s.heal()
}

// heal ends all trouble. Unless a human is asked for, all must be well again.
func (s *sim) heal() {
	s.calm = true
	s.wake(true)
	for range 400 {
		for _, p := range s.all() {
			p.silent, p.hung = false, false
			if !p.alive {
				s.restart(p)
			}
		}
		for _, g := range slices.Clone(s.ghosts) {
			s.kill(g)
		}
		do := s.pass(0)
		for _, p := range s.all() {
			for range 20 {
				s.replicate(p)
			}
		}
		<-time.After(100 * time.Millisecond)
		switch do {
		case rest:
			s.hasAll(s.at(s.redis.Status.Replication.Master.Address))
			return
		case block: // W members of the history are gone for good
			return
		}
	}
	s.fail("it does not come to rest")
}

// schedules are the runs of one test: mostly short, since most trouble is near the
// beginning of some other trouble, and some long.
const schedules = 1_000_000

func TestNoConfirmedWriteIsLost(t *testing.T) {
	usual := debug.SetGCPercent(1600) // all garbage is small and short-lived
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	parts := uint64(runtime.GOMAXPROCS(0)) //nolint:gosec // a few
	runs := uint64(schedules)
	if testing.Short() {
		runs /= 50
	}
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for seed := part; seed < runs; seed += parts {
					simulate(t, seed)
				}
			})
		})
	}
}

// simulate one schedule, and tell it when it ends badly.
func simulate(t *testing.T, seed uint64) {
	events := 16
	if seed%64 == 0 {
		events = 160
	}
	defer func() {
		switch end := recover(); end.(type) {
		case nil:
		case failed:
			s := newSim(t, seed)
			s.told = true
			s.run(events)
			t.Fatalf("seed %d fails, and not when it is told", seed)
		default:
			panic(end)
		}
	}()
	newSim(t, seed).run(events)
}

// Who lags behind the master, and who is far ahead in a history of its own, is no
// heir: the master serves on.
func TestNoHandOverToWhoLacksTheHistory(t *testing.T) {
	for reason, heirIs := range map[string]func(heir, old *process){
		"it lags":            func(heir, old *process) { heir.link, heir.replID = old, old.replID },
		"it is of elsewhere": func(heir, _ *process) { heir.log = []int{7, 7, 7, 7, 7, 7} },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSim(t, 1)
			s.calm = true
			old, heir := s.pods[0], s.pods[1]
			old.master, old.host, old.log = true, "", []int{1, 2, 3}
			heir.host = old.address
			heirIs(heir, old)
			f := &fleet{servers: map[string]server{old.name: old, heir.name: heir}}
			for _, p := range []*process{old, heir} {
				f.members = append(f.members, member{name: p.name, podUID: p.podUID, address: p.address})
			}
			s.lookAt(f)
			s.redis.Status.Replication = &cachev1alpha1.RedisReplication{ReplID: old.replID, Master: f.members[0].process()}
			saved := func(context.Context) error { t.Errorf("%s: nothing may be intended", reason); return nil }
			err := s.r.act(t.Context(), s.redis, f, step{do: handOver, nodes: []string{heir.name}}, saved)
			if err == nil || !old.master || s.redis.Status.Epoch != 0 {
				t.Error(reason, err, old.master, s.redis.Status.Epoch)
			}
			// What else there is to do need not wait with it.
			next, err := s.r.carryOut(t.Context(), s.redis, f, step{do: handOver, nodes: []string{heir.name}}, saved)
			if err != nil || next.do != wait || next.after == 0 || !strings.Contains(next.why, heir.name) {
				t.Error(reason, err, next, next.why)
			}
		})
	}
}

// Writes must not wait for a replica that lags: W stays until it has caught up.
func TestNoHigherMinimumWithWhoLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, 1)
		s.calm = true
		master, slow := s.pods[0], s.pods[1]
		master.master, master.host, master.log = true, "", []int{1, 2, 3}
		slow.host, slow.link, slow.replID = master.address, master, master.replID
		f := &fleet{servers: map[string]server{master.name: master, slow.name: slow}}
		for _, p := range []*process{master, slow} {
			f.members = append(f.members, member{name: p.name, podUID: p.podUID, address: p.address})
		}
		s.lookAt(f)
		s.redis.Status.Replication = &cachev1alpha1.RedisReplication{ReplID: master.replID, Master: f.members[0].process(),
			SyncSet: []cachev1alpha1.RedisProcess{f.members[1].process()}}
		if err := doSetMin(t.Context(), s.redis, f, 1, nothingSaved); err == nil || master.minReplicas != 0 {
			t.Errorf("%v: W is %d", err, master.minReplicas)
		}
		slow.log = master.log
		if err := doSetMin(t.Context(), s.redis, f, 1, nothingSaved); err != nil || master.minReplicas != 1 ||
			s.redis.Status.Replication.EffectiveMinReplicas != 1 {
			t.Errorf("%v: W is %d", err, master.minReplicas)
		}
	})
}

// prompt takes writes until it is fenced.
type prompt struct{ *process }

func (p prompt) Fence(ctx context.Context) error {
	p.log = append(p.log, 99)
	return p.process.Fence(ctx)
}

// What the old master took before its fence is waited for, or nobody takes over.
func TestNoHandOverBeforeTheLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, 1)
		s.calm = true
		old, heir := s.pods[0], s.pods[1]
		old.master, old.host, old.log = true, "", []int{1, 2, 3}
		heir.host, heir.link, heir.replID, heir.log = old.address, old, old.replID, []int{1, 2, 3}
		f := &fleet{servers: map[string]server{old.name: prompt{old}, heir.name: heir}}
		for _, p := range []*process{old, heir} {
			f.members = append(f.members, member{name: p.name, podUID: p.podUID, address: p.address})
		}
		s.lookAt(f)
		s.redis.Status.Replication = &cachev1alpha1.RedisReplication{ReplID: old.replID, Master: f.members[0].process()}
		err := s.r.act(t.Context(), s.redis, f, step{do: handOver, nodes: []string{heir.name}}, nothingSaved)
		if err == nil || heir.master {
			t.Errorf("%v: it lacks the last write and is master: %t", err, heir.master)
		}
	})
}
