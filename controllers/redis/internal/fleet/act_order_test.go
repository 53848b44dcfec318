package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/leadership"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// describe puts into words what a request does.
func (r request) describe() string {
	switch r.effect {
	case saveEffect:
		dataset := ""
		if r.record.dataset > 0 {
			dataset = fmt.Sprintf(", data set %d", r.record.dataset)
		}
		return fmt.Sprintf("save epoch %d%s, master %d, target %d, members%s, W %d",
			r.record.epoch, dataset, r.record.master, r.record.target, listed(r.record.members[:],
				func(member reference) bool { return member.pod != 0 }), r.record.effective)
	case admitEffect:
		return fmt.Sprintf("admit at %d%s", r.node, listed(r.admits[:], func(run id) bool { return run != 0 }))
	case unchangedEffect:
		return "ask for the record"
	case stampsUnchangedEffect:
		return "ask for the stamps"
	case minEffect:
		return fmt.Sprintf("set W of %d to %d", r.node, r.w)
	}
	words := map[effect]string{fenceEffect: "fence", followEffect: "attach", promoteEffect: "promote", pinEffect: "pin",
		killOthersEffect: "kill others at", stampEffect: "stamp"}
	return fmt.Sprintf("%s %d", words[r.effect], r.node)
}

func listed[T any](list []T, counts func(T) bool) string {
	var words strings.Builder
	for n, item := range list {
		if counts(item) {
			fmt.Fprintf(&words, " %d", n)
		}
	}
	return words.String()
}

// noting is a pass whose requests are answered at once, and what is done, in order.
func (m *model) noting() (*Fleet, *[]string) {
	var played *modelPass
	var done []string
	played = newModelPass(m.read(), func(q request) reply {
		if q.effect != lookEffect {
			done = append(done, q.describe())
		}
		return m.answer(q, &played.read)
	})
	played.fleet.ask(quiet)
	for i := range played.fleet.Nodes {
		played.fleet.Nodes[i].LoginSent = true
	}
	return played.fleet, &done
}

// masterDies, and its replicas are fenced.
func masterDies(u *model) {
	u.kill(&u.procs[0])
	for i := range u.procs {
		u.procs[i].follows = 0
	}
}

// What an operator that starts again must know is written down before the command that
// makes it true, and no replica is admitted before it is recorded.
func TestOrderWithinAnAct(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*model)
		step   topology.Step
		want   []string
	}{
		{"promote", func(u *model) { masterDies(u); u.procs[1].pinned = false }, topology.Step{Do: topology.Promote, NodeNames: []string{"a-1"}},
			[]string{
				"save epoch 1, master 0, target 1, members 1 2, W 0", "admit at 1", "promote 1", "pin 1",
				"stamp 1", "save epoch 1, master 1, target 1, members 2, W 0", "admit at 1 2", "attach 2"}},
		{"the data set ends with the intent to promote, before the promotion", masterDies,
			topology.Step{Do: topology.Promote, NodeNames: []string{"a-1"}, Unsafe: true}, []string{
				"save epoch 1, data set 1, master 0, target 1, members 1 2, W 0", "admit at 1", "promote 1",
				"stamp 1", "save epoch 1, data set 1, master 1, target 1, members 2, W 0", "admit at 1 2", "attach 2"}},
		{"promote after volumes of a later epoch", func(u *model) { masterDies(u); u.stamps[2].epoch = 9 },
			topology.Step{Do: topology.Promote, NodeNames: []string{"a-1"}}, []string{
				"save epoch 10, master 0, target 1, members 1 2, W 0", "admit at 1", "promote 1",
				"stamp 1", "save epoch 10, master 1, target 1, members 2, W 0", "admit at 1 2", "attach 2"}},
		{"hand over", func(*model) {}, topology.Step{Do: topology.SwitchOver, NodeNames: []string{"a-1"}}, []string{
			"save epoch 1, master 0, target 1, members 1 2, W 0", "admit at 1", "fence 0", "promote 1",
			"stamp 1", "save epoch 1, master 1, target 1, members 0 2, W 0", "admit at 1 0 2", "attach 0", "attach 2"}},
		{"record", func(u *model) { u.procs[0].pinned = false }, topology.Step{Do: topology.RecordMaster, NodeNames: []string{"a-0"}}, []string{
			"pin 0", "stamp 0", "save epoch 1, master 0, target 0, members 1 2, W 0"}},
		{"attach", func(u *model) {
			u.record.members[2], u.procs[0].admits[2] = reference{}, 0
			u.procs[2].follows, u.procs[2].linked = 0, false
		}, topology.Step{Do: topology.AttachReplicas, NodeNames: []string{"a-2"}}, []string{
			"save epoch 0, master 0, target 0, members 1 2, W 0", "admit at 0 1 2", "attach 2"}},
		{"drop", func(u *model) { u.kill(&u.procs[2]) }, topology.Step{Do: topology.RemoveMembers, NodeNames: []string{"a-2"}}, []string{
			"admit at 0 1", "save epoch 0, master 0, target 0, members 1, W 0"}},
		{"lower W", func(u *model) { u.record.effective, u.procs[0].minReplicas = 1, 1 },
			topology.Step{Do: topology.SetMinReplicas, MinReplicas: 0}, []string{
				"save epoch 0, master 0, target 0, members 1 2, W 0", "set W of 0 to 0", "save epoch 0, master 0, target 0, members 1 2, W 0"}},
		{"raise W", func(*model) {}, topology.Step{Do: topology.SetMinReplicas, MinReplicas: 1}, []string{
			"set W of 0 to 1", "save epoch 0, master 0, target 0, members 1 2, W 1"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			u := recordedSet(3, true)
			c.given(u)
			p, done := u.noting()
			if err := p.do(quiet, c.step); err != nil || !slices.Equal(*done, c.want) {
				t.Errorf("%v; got\n%s\nwant\n%s", err, strings.Join(*done, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// An operator that was replaced must not command a server next to ours. So ours says first that it is in charge, then
// closes the connections of others, and looks again at what they have left. It asks for the record before it acts.
func TestAnOperatorTakesOverBeforeItsFirstCommand(t *testing.T) {
	u := recordedSet(2, false)
	u.procs[1].master = true
	p, done := u.noting()
	p.operator.Identity = operatorName(7)
	for _, m := range p.addressable() {
		m.OthersKilled = true // before
	}
	usurper := topology.Step{Do: topology.Fence, NodeNames: []string{"a-1"}}
	if _, err := p.execute(quiet, usurper); err != nil {
		t.Fatal(err)
	}
	want := []string{"ask for the stamps", "save epoch 0, master 0, target 0, members 1, W 0", "kill others at 0", "kill others at 1",
		"ask for the record", "fence 1", "ask for the record", "save epoch 0, master 0, target 0, members 1, W 0", "admit at 0 1", "attach 1",
	}
	if !slices.Equal(*done, want) || u.record.holder != 7 {
		t.Errorf("operator %d is in charge; got\n%s", u.record.holder, strings.Join(*done, "\n"))
	}
}

// lastCommand is a server at which another operator's last command arrives just before its connection is closed.
type lastCommand struct {
	server
	arrives func()
}

func (l lastCommand) KillOtherOperators(ctx context.Context) error {
	l.arrives()
	return l.server.KillOtherOperators(ctx)
}

// A replica that was led back to the old master is not fenced: no other is promoted before it is.
func TestWhatOthersHaveLeftIsLookedAt(t *testing.T) {
	u := recordedSet(3, true)
	masterDies(u)
	p, done := u.noting()
	p.servers["a-2"] = lastCommand{p.servers["a-2"], func() { u.procs[2].follows = u.pods[0] }}
	_, err := p.execute(quiet, topology.Step{Do: topology.Promote, NodeNames: []string{"a-1"}})
	if fenced, promoted := slices.Index(*done, "fence 2"), slices.Index(*done, "promote 1"); err != nil || fenced < 0 ||
		promoted >= 0 && promoted < fenced {
		t.Errorf("%v; did\n%s", err, strings.Join(*done, "\n"))
	}
}

// deadlineRecorder notes how long a command may take.
type deadlineRecorder struct {
	server
	left time.Duration
}

func (d *deadlineRecorder) Fence(ctx context.Context) error {
	if end, limited := ctx.Deadline(); limited {
		d.left = time.Until(end)
	}
	return nil
}

// An operator that was stopped in an act wakes when another leads, and must not continue.
func TestAnActEndsBeforeAnotherLeads(t *testing.T) {
	u := recordedSet(2, false)
	p := u.direct()
	recorder := &deadlineRecorder{server: p.servers["a-1"]}
	p.servers["a-1"] = recorder
	gap := leadership.DefaultTimes.LeaseDuration - leadership.DefaultTimes.RenewDeadline // from when we may no longer act until another may
	if _, err := p.actAsLeader(quiet, topology.Step{Do: topology.Fence, NodeNames: []string{"a-1"}}); err != nil || recorder.left <= 0 ||
		recorder.left >= gap {
		t.Errorf("%v: a command may take %s", err, recorder.left)
	}
}

// Who was led to another master since he was chosen may have copied what that has.
func TestNoPromotionOfWhoFollows(t *testing.T) {
	u := recordedSet(2, false)
	masterDies(u)
	u.procs[1].follows = u.pods[0]
	p := u.direct()
	if err := p.do(quiet, topology.Step{Do: topology.Promote, NodeNames: []string{"a-1"}}); err == nil || u.procs[1].master {
		t.Errorf("%v, master: %t", err, u.procs[1].master)
	}
}

// As long as one that is gone counts, it may have confirmed what another has not.
func TestNoOneIsDroppedBeforeTheOthersHaveAll(t *testing.T) {
	u := recordedSet(3, false)
	u.procs[1].data = "ab"
	u.kill(&u.procs[2])
	p := u.direct()
	if err := p.do(quiet, topology.Step{Do: topology.RemoveMembers, NodeNames: []string{"a-2"}}); err == nil || u.record.members[2].pod == 0 {
		t.Errorf("%v, members %v", err, u.record.members)
	}
}

// Who comes back with an older file of the same history must not be taken for one that has all.
func TestWhatADroppedOneMayHaveConfirmedMustBeThere(t *testing.T) {
	for reason, dropped := range map[string][]string{"one of two": {"a-2"}, "both": {"a-1", "a-2"}} {
		t.Run(reason, func(t *testing.T) {
			u := recordedSet(3, false)
			u.record.startOffset, u.record.former = 1, u.next()
			for _, name := range dropped {
				u.kill(&u.procs[config.Ordinal(name)])
			}
			p := u.direct()
			if err := p.do(quiet, topology.Step{Do: topology.RemoveMembers, NodeNames: dropped}); err != nil || u.record.startOffset != 3 ||
				u.record.former != 0 {
				t.Errorf("%v: a candidate needs %d of 3", err, u.record.startOffset)
			}
		})
	}
}

// A member that cannot be asked counts on, and holds nothing up.
func TestAMemberThatCannotBeAskedIsNotWaitedFor(t *testing.T) {
	u := recordedSet(3, false)
	u.procs[1].hung, u.procs[1].data = true, "ab"
	u.kill(&u.procs[2])
	p := u.direct()
	if err := p.do(quiet, topology.Step{Do: topology.RemoveMembers, NodeNames: []string{"a-2"}}); err != nil ||
		u.record.members[1].pod == 0 || u.record.startOffset != 3 {
		t.Errorf("%v: members %v, a candidate needs %d of 3", err, u.record.members, u.record.startOffset)
	}
}

// writeBeforeMinReplicas takes a write just before its W is set.
type writeBeforeMinReplicas struct {
	server
	master *process
}

func (w writeBeforeMinReplicas) SetMinReplicas(ctx context.Context, minimum int32) error {
	w.master.data += "d"
	return w.server.SetMinReplicas(ctx, minimum)
}

// A write that was confirmed under the lower W must be with all before the record says a higher.
func TestAHigherMinimumIsNotRecordedBeforeOlderWritesAreWithAll(t *testing.T) {
	u, master, _ := pair()
	p := u.direct()
	p.servers["a-0"] = writeBeforeMinReplicas{p.servers["a-0"], master}
	if err := p.doSetMinReplicas(t.Context(), topology.Step{MinReplicas: 1}); err == nil || u.record.effective != 0 ||
		p.Redis.Status.Replication.EffectiveMinReplicas != 0 {
		t.Errorf("%v: recorded W is %d", err, u.record.effective)
	}
}
