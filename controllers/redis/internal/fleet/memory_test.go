package fleet

import (
	"slices"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// What a lost master may still have confirmed ends when the last of its replicas is fenced.
func TestFencedForCountsFromTheLastReplica(t *testing.T) {
	s := fixture.Healthy(3)
	fixture.MakeSilent(&s.Nodes[0])
	fixture.FenceReplicas(s, 90)
	known := knownOfNone()
	now := testingclock.NewFakePassiveClock(present)
	fencedFor := func(want time.Duration) {
		t.Helper()
		if got := known.trackFenced(s.World, now); got != want {
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
	known, then := knownOfNone(), present
	for _, want := range []time.Duration{0, time.Second, 2 * time.Second} {
		if got := known.watched.trackSilence("10.0.0.1", wire.Silent, then); got != want {
			t.Errorf("silent for %s, want %s", got, want)
		}
		then = then.Add(time.Second)
	}
	if got := known.watched.trackSilence("10.0.0.1", wire.Reached, then); got != 0 {
		t.Errorf("silent for %s when it answers", got)
	}
}

// A server that was not asked is as silent as it was: what it was asked before, and its watch, still count. It is given the whole
// time of the next look.
func TestAServerThatWasNotAskedIsAsSilentAsBefore(t *testing.T) {
	known, start := knownOfNone(), present
	known.watched.trackSilence("10.0.0.1", wire.Reached, start)
	if got := known.watched.trackSilence("10.0.0.1", wire.Unconfirmed, start.Add(5*time.Second)); got != 5*time.Second ||
		known.watched.contactOf("10.0.0.1").wasSilent {
		t.Errorf("silent for %s", got)
	}
	known.watched.noteReply("10.0.0.1", nil, start.Add(6*time.Second), nil)
	if got := known.watched.trackSilence("10.0.0.1", wire.Unconfirmed, start.Add(7*time.Second)); got != time.Second {
		t.Errorf("silent for %s since its watch heard it", got)
	}
	if got := known.watched.trackSilence("10.0.0.1", wire.Silent, start.Add(16*time.Second)); got != 10*time.Second {
		t.Errorf("silent for %s once it was asked", got)
	}
}

// A server answers with errors only since it last answered otherwise, until it does again; one that was never met, since it was.
func TestSinceWhenAServerIsBusy(t *testing.T) {
	known, start := knownOfNone(), present
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
		if got := known.watched.trackAbsence("10.0.0.1", c.view, now); !got.Equal(c.want) {
			t.Errorf("after %s: busy since %s, want %s", c.at, got, c.want)
		}
		known.watched.trackSilence("10.0.0.1", c.view.Answer, now)
	}
	if got := known.watched.trackAbsence("10.0.0.2", busy, start); !got.Equal(start) {
		t.Errorf("met busy: since %s", got)
	}
}

// A master that was busy has pinged no replica meanwhile. It is given a moment to do so before it counts as cut off.
func TestAMasterThatWasAwayIsNotCutOffAtOnce(t *testing.T) {
	known, now := knownOfNone(), testingclock.NewFakePassiveClock(present)
	known.watched.trackAbsence("10.0.0.1", wire.View{Answer: wire.ErrorReply, ErrorCode: wire.Busy}, now.Now())
	for _, want := range []time.Duration{0, 0, 500 * time.Millisecond} { // ReconnectTime is a second
		now.SetTime(now.Now().Add(500 * time.Millisecond))
		known.watched.trackAbsence("10.0.0.1", wire.View{Answer: wire.Reached}, now.Now())
		if got := known.trackCutOff("10.0.0.1", true, now); got != want {
			t.Errorf("cut off for %s, want %s", got, want)
		}
	}
}

// A process that the master was asked to refuse, and that is recorded still, is let in again.
func TestARefusedReplicaIsSentItsLoginAgain(t *testing.T) {
	u := formed(t, 3, 1, true)
	p := u.direct()
	known, set := p.memory, p.Redis.Status.Replication.SyncSet
	for _, process := range set {
		known.noteLoginSent(process.RunID, modelClock.Now())
	}
	known.fillCommands(p.addressable(), modelClock.Now())
	if err := p.admitOnly(t.Context(), set[:1]); err != nil {
		t.Fatal(err)
	}
	p = u.direct()
	known.fillCommands(p.addressable(), modelClock.Now())
	if next := p.Situation().Plan(); next.Do != topology.AttachReplicas || !slices.Equal(next.NodeNames, []string{set[1].Name}) {
		t.Errorf("%s is refused, and the step is %s (%s)", set[1].Name, next, next.Message)
	}
}

func TestALoginIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		name            string
		linked, syncing bool
		after           time.Duration
		sent            bool
	}{
		{"just sent", false, false, loginRetry - 1, true},
		{"sent, and refused", false, false, loginRetry, false},
		{"in sync", true, false, time.Hour, true},
		{"being sent its data", false, true, time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			known, now := knownOfNone(), modelClock.Now()
			replica := topology.Node{View: wire.View{Answer: wire.Reached, RunID: "run", LinkUp: c.linked, Syncing: c.syncing}}
			known.noteLoginSent(replica.RunID, now)
			known.fillCommands([]*topology.Node{&replica}, now.Add(c.after))
			if replica.LoginSent != c.sent {
				t.Errorf("sent: %t", replica.LoginSent)
			}
			if replica.LinkUp = false; c.linked { // from the last time that it was seen linked
				known.fillCommands([]*topology.Node{&replica}, now.Add(c.after+1))
				if !replica.LoginSent {
					t.Error("one that has just lost its link is sent it again at once")
				}
			}
		})
	}
}

// Somebody may change by hand whom the master lets in. The operator believes that the replica was given its login, and
// that the master admits it.
func TestALoginThatLeadsNowhereIsSentAgain(t *testing.T) {
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
		if server := &known.servers[i]; server.pod == lost.pod {
			server.knowsLogin = lost.run
		}
	}
	if did, after := u.runToRest(known); did.Do != topology.Idle || !after.processOf(lost.pod).linked {
		t.Errorf("it does not come to rest: %s (%s)", did, did.Message)
	}
}

// knownOfNone is what is known of an object before its first pass.
func knownOfNone() *Memory { return startOperator(nil).memory }
