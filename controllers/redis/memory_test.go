package redis

import (
	"slices"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// What a lost master may still have confirmed ends when the last of its replicas is fenced.
func TestFencedForCountsFromTheLastReplica(t *testing.T) {
	s := fixture.Healthy(3)
	fixture.MakeSilent(&s.Nodes[0])
	fixture.FenceReplicas(s, 90)
	var m memory
	now := testingclock.NewFakePassiveClock(present)
	fencedFor := func(want time.Duration) {
		t.Helper()
		if got := m.trackFenced(s.Redis, s.World, now); got != want {
			t.Errorf("fenced for %s, want %s", got, want)
		}
		now.SetTime(now.Now().Add(time.Second))
	}
	fencedFor(0) // a-2 follows
	fencedFor(0)
	fixture.FenceReplicas(s, 90, 95)
	fencedFor(0)
	fencedFor(time.Second)
	fixture.MakeSilent(&s.Nodes[1])
	fencedFor(2 * time.Second)
	s.Nodes[1] = fixture.Running(1) // it was only not heard, and follows
	fencedFor(0)
	fixture.FenceReplicas(s, 90, 95)
	fencedFor(0)
}

// Who was never heard may have answered until now.
func TestSilenceCountsFromTheFirstQuestion(t *testing.T) {
	r, m, then := &cachev1alpha1.Redis{}, memory{}, present
	for _, want := range []time.Duration{0, time.Second, 2 * time.Second} {
		if got := m.trackSilence(r, "10.0.0.1", wire.Silent, then); got != want {
			t.Errorf("silent for %s, want %s", got, want)
		}
		then = then.Add(time.Second)
	}
	if got := m.trackSilence(r, "10.0.0.1", wire.Reached, then); got != 0 {
		t.Errorf("silent for %s when it answers", got)
	}
}

// A server that was not asked is as silent as it was: what it was asked before, and its watch, still count. It is given the whole
// time of the next look.
func TestAServerThatWasNotAskedIsAsSilentAsBefore(t *testing.T) {
	r, m, start := &cachev1alpha1.Redis{}, memory{}, present
	m.trackSilence(r, "10.0.0.1", wire.Reached, start)
	if got := m.trackSilence(r, "10.0.0.1", wire.Unconfirmed, start.Add(5*time.Second)); got != 5*time.Second || m.wasSilent(r, "10.0.0.1") {
		t.Errorf("silent for %s", got)
	}
	m.noteReply(client.ObjectKeyFromObject(r), r.UID, "10.0.0.1", nil, start.Add(6*time.Second))
	if got := m.trackSilence(r, "10.0.0.1", wire.Unconfirmed, start.Add(7*time.Second)); got != time.Second {
		t.Errorf("silent for %s since its watch heard it", got)
	}
	if got := m.trackSilence(r, "10.0.0.1", wire.Silent, start.Add(16*time.Second)); got != 10*time.Second {
		t.Errorf("silent for %s once it was asked", got)
	}
}

// A server answers with errors only since it last answered otherwise, until it does again; one that was never met, since it was.
func TestSinceWhenAServerIsBusy(t *testing.T) {
	r, m, start := &cachev1alpha1.Redis{}, memory{}, present
	busy, reached := wire.View{Answer: wire.ErrorReply, ErrorCode: wire.Busy}, wire.View{Answer: wire.Reached}
	for _, c := range []struct {
		at   time.Duration
		view wire.View
		want time.Time
	}{
		{0, reached, time.Time{}},
		{3 * time.Second, wire.View{Answer: wire.Silent}, time.Time{}},
		{5 * time.Second, busy, start},
		{9 * time.Second, busy, start},
		{10 * time.Second, reached, time.Time{}},
		{20 * time.Second, busy, start.Add(10 * time.Second)},
		{21 * time.Second, wire.View{Answer: wire.ErrorReply, ErrorCode: "NOPERM"}, start.Add(10 * time.Second)},
		{22 * time.Second, wire.View{Answer: wire.Unconfirmed}, start.Add(10 * time.Second)}, // it was not asked
		{23 * time.Second, reached, time.Time{}},
	} {
		now := start.Add(c.at)
		if got := m.trackAbsence(r, "10.0.0.1", c.view, now); !got.Equal(c.want) {
			t.Errorf("after %s: busy since %s, want %s", c.at, got, c.want)
		}
		m.trackSilence(r, "10.0.0.1", c.view.Answer, now)
	}
	if got := m.trackAbsence(r, "10.0.0.2", busy, start); !got.Equal(start) {
		t.Errorf("met busy: since %s", got)
	}
}

// A master that was busy has pinged no replica meanwhile. It is given a moment to do so before it counts as cut off.
func TestAMasterThatWasAwayIsNotCutOffAtOnce(t *testing.T) {
	r, m, now := &cachev1alpha1.Redis{}, memory{}, testingclock.NewFakePassiveClock(present)
	m.trackAbsence(r, "10.0.0.1", wire.View{Answer: wire.ErrorReply, ErrorCode: wire.Busy}, now.Now())
	for _, want := range []time.Duration{0, 0, 500 * time.Millisecond} { // ReconnectTime is a second
		now.SetTime(now.Now().Add(500 * time.Millisecond))
		m.trackAbsence(r, "10.0.0.1", wire.View{Answer: wire.Reached}, now.Now())
		if got := m.trackCutOff(r, "10.0.0.1", true, now); got != want {
			t.Errorf("cut off for %s, want %s", got, want)
		}
	}
}

// A process that the master was told to refuse, and that is on record still, is let in again.
func TestWhoIsRefusedIsToldAgain(t *testing.T) {
	u, r := formed(t, 3, 1, true), &Reconciler{clock: modelClock}
	f, redis := u.direct()
	set := redis.Status.Replication.SyncSet
	for _, p := range set {
		r.memory.noteCommand(redis, p.RunID, setLoginSent(modelClock.Now()))
	}
	r.memory.fillCommands(redis, f.addressable(), modelClock.Now())
	if err := r.admitOnly(t.Context(), redis, f, set[:1]); err != nil {
		t.Fatal(err)
	}
	f, redis = u.direct()
	r.memory.fillCommands(redis, f.addressable(), modelClock.Now())
	if next := f.situation(redis).Plan(); next.Do != topology.AttachReplicas || !slices.Equal(next.NodeNames, []string{set[1].Name}) {
		t.Errorf("%s is refused, and the step is %s (%s)", set[1].Name, next, next.Message)
	}
}

func TestALoginIsToldAgain(t *testing.T) {
	for _, c := range []struct {
		name            string
		linked, syncing bool
		after           time.Duration
		told            bool
	}{
		{"just told", false, false, loginRetry - 1, true},
		{"told, and refused", false, false, loginRetry, false},
		{"in sync", true, false, time.Hour, true},
		{"being sent its data", false, true, time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, redis, now := &Reconciler{}, &cachev1alpha1.Redis{}, modelClock.Now()
			one := topology.Node{View: wire.View{Answer: wire.Reached, RunID: "run", LinkUp: c.linked, Syncing: c.syncing}}
			r.memory.noteCommand(redis, one.RunID, setLoginSent(now))
			r.memory.fillCommands(redis, []*topology.Node{&one}, now.Add(c.after))
			if one.LoginSent != c.told {
				t.Errorf("told: %t", one.LoginSent)
			}
			if one.LinkUp = false; c.linked { // from the last time that it was seen linked
				r.memory.fillCommands(redis, []*topology.Node{&one}, now.Add(c.after+1))
				if !one.LoginSent {
					t.Error("one that has just lost its link is told again at once")
				}
			}
		})
	}
}

// Somebody may change by hand whom the master lets in. The operator believes that the replica was told its login, and
// that the master admits it.
func TestALoginThatLeadsNowhereIsToldAgain(t *testing.T) {
	u := formed(t, 3, 1, true)
	known := operatorMemory{identity: u.next()}
	for range 5 {
		if _, err := u.runPass(&known); err != nil {
			t.Fatal(err)
		}
	}
	var lost *process
	for i := range u.procs {
		if p := &u.procs[i]; p.master {
			p.admits[2] = 0
		} else if p.node == 2 {
			lost = p
		}
	}
	lost.linked = false
	for i := range known.servers {
		if one := &known.servers[i]; one.pod == lost.pod {
			one.knowsLogin = lost.run
		}
	}
	if did, after := u.runToRest(known); did.Do != topology.Idle || !after.processOf(lost.pod).linked {
		t.Errorf("it does not come to rest: %s (%s)", did, did.Message)
	}
}

// of is what is known of one object, for a test that is alone with it.
func (m *memory) of(redis *cachev1alpha1.Redis) *objectMemory {
	known, unlock := m.Lock(redis)
	defer unlock()
	return known
}
