package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

var errDown = errors.New("no answer")

// process is one simulated redis-server.
type process struct {
	sim     *sim
	name    string
	podUID  types.UID
	address string
	runID   string

	alive, silent bool // silent: the operator cannot reach it, its clients can
	master        bool
	host          string   // whom it follows
	link          *process // and hears
	replID        string
	log           []int
	minReplicas   int32
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
	made      int
	confirmed []int
	pending   map[int]*process // who took the write
	doom      int              // commands until the operator crashes
	calm      bool             // nothing happens between two commands any more
	history   []string
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{t: t, rand: rand.New(rand.NewPCG(seed, 7)), r: &Reconciler{clock: clock.RealClock{}}, redis: &cachev1alpha1.Redis{}, pending: map[int]*process{}}
	s.persists = s.rand.IntN(2) == 0
	size := int32(2 + s.rand.IntN(4))
	s.redis.Name, s.redis.UID, s.redis.Spec.Size = "a", "a", ptr.To(size)
	if size > 2 && s.rand.IntN(3) == 0 {
		s.redis.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
	}
	for n := range size {
		s.pods = append(s.pods, s.start(fmt.Sprintf("a-%d", n), nil))
	}
	return s
}

func (s *sim) unique(prefix string) string { s.made++; return fmt.Sprintf("%s%d", prefix, s.made) }

func (s *sim) start(name string, log []int) *process {
	return &process{sim: s, name: name, podUID: types.UID(s.unique("uid")), address: s.unique("10.0.0."), runID: s.unique("run"),
		alive: true, host: node.FenceHost, replID: s.unique("history"), log: log}
}

func (s *sim) note(format string, args ...any) {
	s.history = append(s.history, fmt.Sprintf(format, args...))
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
	if !p.alive || p.silent {
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
		ReplID: p.replID, Offset: int64(len(p.log)), Keys: int64(len(p.log)), MinReplicas: p.minReplicas}
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
		p.sim.confirmed = slices.Clone(p.log)
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
func (p *process) Close()                                     {}

func (s *sim) all() []*process { return slices.Concat(s.pods, s.ghosts) }

func (s *sim) at(address string) *process {
	i := slices.IndexFunc(s.all(), func(p *process) bool { return p.alive && p.address == address })
	if i < 0 {
		return nil
	}
	return s.all()[i]
}

func (p *process) followers() []*process {
	return slices.DeleteFunc(p.sim.all(), func(f *process) bool { return !f.alive || f.link != p })
}

func (s *sim) cut(p *process) {
	for _, f := range p.followers() {
		f.link = nil
	}
}

func (s *sim) hasAll(p *process) {
	for _, n := range s.confirmed {
		if !slices.Contains(p.log, n) {
			s.t.Fatalf("%s lacks the confirmed write %d:\n%v", p.runID, n, s.history)
		}
	}
}

// happen lets one thing happen that the operator has no say in.
func (s *sim) happen() {
	all := s.all()
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
	case roll < 98:
		p.silent = !p.silent
	default:
		<-time.After(time.Second)
	}
}

// write as a client does that confirms by WAIT, once the followers have it.
func (s *sim) write(p *process) {
	if p.alive && p.master && len(p.followers()) >= int(p.minReplicas) {
		s.made++
		p.log = append(p.log, s.made)
		s.pending[s.made] = p
	}
}

func (s *sim) replicate(p *process) {
	m := s.at(p.host)
	switch {
	case !p.alive || p.master || m == nil:
		p.link = nil
		return
	case p.link == m:
		if len(p.log) < len(m.log) {
			p.log = append(p.log, m.log[len(p.log)])
		}
	case m.master && (s.calm || s.rand.IntN(2) == 0):
		p.link, p.replID, p.log = m, m.replID, slices.Clone(m.log)
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
	p.alive, p.link, p.silent = false, nil, false
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
	p.log = slices.Clone(p.log)
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
	s.pods[i] = s.start(p.name, log)
}

// pass is one pass of an operator that may crash on its way.
func (s *sim) pass(doom int) verb {
	s.doom = 0 // looking does not crash
	ctx := context.Background()
	redis := s.redis.DeepCopy()
	f := &fleet{servers: map[string]server{}}
	f.sinceRouted = time.Hour
	for _, p := range s.pods {
		f.members = append(f.members, member{name: p.name, podUID: p.podUID, address: p.address})
		f.servers[p.name] = p
	}
	if rep := redis.Status.Replication; rep != nil && !slices.ContainsFunc(s.pods, func(p *process) bool { return p.podUID == rep.Master.PodUID }) {
		f.ghost = &member{name: rep.Master.Name, podUID: rep.Master.PodUID, address: rep.Master.Address}
		gone := &process{sim: s, address: rep.Master.Address}
		f.ghostServer = gone
		if p := s.at(rep.Master.Address); p != nil {
			f.ghostServer = p
		}
	}
	s.lookAt(f)
	f.frozenFor = s.r.memory.frozen(redis, f.world, s.r.clock)
	next := plan(redis, f.world)
	s.note("plan: %s %s", next, next.why)
	s.doom = doom
	_ = s.r.act(ctx, redis, f, next, func(context.Context) error {
		if s.doom--; s.doom == 0 {
			return errDown
		}
		if s.redis.Status.Epoch > redis.Status.Epoch {
			s.t.Fatalf("the epoch fell")
		}
		s.redis = redis.DeepCopy()
		return nil
	})
	s.doom = 0
	return next.do
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
	for range 400 {
		for _, p := range s.all() {
			p.silent = false
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
	s.t.Fatalf("it does not come to rest: %v", s.history)
}

func TestNoConfirmedWriteIsLost(t *testing.T) {
	schedules := uint64(20_000)
	if testing.Short() {
		schedules = 2_000
	}
	synctest.Test(t, func(t *testing.T) {
		for seed := range schedules {
			newSim(t, seed).run(120)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

func TestNoOutageForAnHeirThatLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, 1)
		s.calm = true
		old, heir := s.pods[0], s.pods[1]
		old.master, old.host, old.log = true, "", []int{1, 2, 3}
		heir.host, heir.link, heir.replID = old.address, old, old.replID
		f := &fleet{servers: map[string]server{old.name: old, heir.name: heir}}
		for _, p := range []*process{old, heir} {
			f.members = append(f.members, member{name: p.name, podUID: p.podUID, address: p.address})
		}
		s.lookAt(f)
		s.redis.Status.Replication = &cachev1alpha1.RedisReplication{ReplID: old.replID, Master: f.members[0].process()}
		saved := func(context.Context) error { t.Error("nothing may be intended"); return nil }
		err := s.r.act(t.Context(), s.redis, f, step{do: handOver, nodes: []string{heir.name}}, saved)
		if err == nil || !old.master || s.redis.Status.Epoch != 0 {
			t.Error(err, old.master, s.redis.Status.Epoch)
		}
	})
}
