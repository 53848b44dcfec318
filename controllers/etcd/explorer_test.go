package etcd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/explore"
)

// ordinal is one in the name of an action.
var ordinal = regexp.MustCompile(`\b(pod|server|volume|member) [0-9]\b`)

// action is one event of the model. It reports whether it can happen, and which promise it breaks.
type action struct {
	name string
	do   func(*model) (happens bool, err error)
}

// kind is its name without the ordinals of pods.
func (a action) kind() string { return ordinal.ReplaceAllString(a.name, "$1") }

// happen does it, and what follows at once.
func (a action) happen(m *model) (happens bool, err error) {
	happens, err = a.do(m)
	m.openToClients()
	return happens, err
}

// runPass runs one pass of the operator: it reads, plans, and acts by the shipped code, until it is killed at a call.
func runPass(dieAt int, after bool) func(*model) (bool, error) {
	return func(m *model) (bool, error) {
		if dieAt > 0 {
			if m.Crashes == 0 {
				return false, nil
			}
			m.Crashes--
		}
		e := m.object()
		outside := &modelEffects{model: m, object: e, version: m.Version, dieAt: dieAt, after: after}
		f := m.fleet(e, outside)
		next := f.situation(e).Plan()
		return runStep(m, e, f, outside, next)
	}
}

// runStep acts, then does what follows in a pass: the StatefulSet's size, and the permits.
func runStep(m *model, e *databasev1alpha1.EtcdCluster, f *fleet, outside *modelEffects, next membership.Step) (bool, error) {
	err := (&Reconciler{clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}).execute(context.Background(), e, f, next)
	var violated broken
	if errors.As(err, &violated) {
		return true, violated
	}
	if err == nil || isWaiting(err) {
		if e.Status.Membership != nil { // without a record nothing but what the pod of a backup needs is made
			m.Replicas = f.situation(e).DesiredPods()
			m.Template, m.TemplateBroken = minorOf(e.Status.TargetVersion), m.podMistake()
		}
		err = f.writePermits(context.Background(), e)
	}
	if outside.dieAt > 0 && !errors.Is(err, errCrashed) {
		return false, nil // there was no such call
	}
	return true, nil
}

// fallAsleep stops the operator after it has planned; wake lets it act on what it saw then.
func fallAsleep(m *model) (bool, error) {
	if m.Crashes == 0 || m.Asleep != nil {
		return false, nil
	}
	e := m.object()
	f := m.fleet(e, &modelEffects{model: m, object: e, version: m.Version})
	next := f.situation(e).Plan()
	if !next.Changes() && !next.RemovesPod() && !slices.Contains(changesBackups, next.Do) {
		return false, nil
	}
	m.Crashes--
	for i := range f.Members {
		f.Members[i].Record = nil // it is in the status
	}
	m.Asleep = &sleeper{Step: next, World: f.World, Pods: m.Pods, Status: *e.Status.DeepCopy(), Version: m.Version}
	m.Asleep.text = asText(m.Asleep)
	return true, nil
}

func wake(m *model) (bool, error) {
	s := m.Asleep
	if s == nil {
		return false, nil
	}
	m.Asleep = nil
	e := &databasev1alpha1.EtcdCluster{Status: *s.Status.DeepCopy()}
	outside := &modelEffects{model: m, object: e, version: s.Version}
	f := m.fleet(e, outside)
	f.World = s.World
	f.Members = slices.Clone(s.World.Members) // which other orders of events have, too
	for i := range f.Members {
		name := f.Members[i].Name
		f.Members[i].Record, f.servers[name] = recordOf(e, name), &modelServer{outside, ordinalOf(name)}
	}
	outside.seen, outside.seenPods = &f.World, s.Pods
	_, err := runStep(m, e, f, outside, s.Step)
	return true, err
}

// allowRecovery has a human allow what the operator asks for, but not to begin without any data.
func allowRecovery(m *model) (bool, error) {
	if m.Humans == 0 {
		return false, nil
	}
	e := m.object()
	f := m.fleet(e, &modelEffects{model: m, object: e, version: m.Version})
	next := f.situation(e).Plan()
	_, token, asked := strings.Cut(next.Message, databasev1alpha1.EtcdAllowUnsafeRecovery+"=")
	if next.Do != membership.Block || !asked || token == m.Allowed || m.held() == 0 {
		return false, nil
	}
	m.Humans--
	m.Allowed = token
	return true, nil
}

// actions are all that can happen next.
func actions() []action {
	list := []action{{"pass", runPass(0, false)}, {"write", func(m *model) (bool, error) { return m.Writes == m.Backup && m.write(), nil }},
		{"stop the operator", fallAsleep}, {"wake the operator", wake}, {"a human allows a recovery", allowRecovery}}
	for call := 1; call <= 3; call++ {
		list = append(list, action{fmt.Sprintf("pass, killed before call %d", call), runPass(call, false)},
			action{fmt.Sprintf("pass, killed after call %d", call), runPass(call, true)})
	}
	for i := range membership.MaxSize {
		list = append(list, podActions(i)...)
	}
	return slices.Concat(list, backupActions(), upgradeActions(), specActions())
}

// podActions are those of the pod at one ordinal, its server and its volume.
func podActions(i int) []action {
	return append(memoryActions(i), []action{
		{fmt.Sprintf("pod %d is made", i), func(m *model) (bool, error) {
			if m.Pods[i].UID != "" || i >= int(m.Replicas) {
				return false, nil
			}
			m.Pods[i].UID, m.Pods[i].Minor, m.Pods[i].Broken = fmt.Sprintf("p%d", m.newID()), m.Template, m.TemplateBroken
			return true, nil
		}},
		{fmt.Sprintf("pod %d is taken away", i), func(m *model) (bool, error) {
			if m.Pods[i].UID == "" || i < int(m.Replicas) {
				return false, nil
			}
			m.removePod(i)
			return true, nil
		}},
		{fmt.Sprintf("server %d starts", i), func(m *model) (bool, error) {
			if m.Pods[i].UID == "" || m.Pods[i].Runs || m.Pods[i].Permit == "" {
				return false, nil
			}
			before := m.key()
			err := m.startServer(i)
			return m.key() != before, err
		}},
		{fmt.Sprintf("server %d is killed after it was made a cluster of one, before that is noted", i), func(m *model) (bool, error) {
			permit, _ := membership.ParsePermit(m.Pods[i].Permit)
			if m.Faults == 0 || m.Pods[i].Runs || permit.Force == "" || permit.Data != m.Volumes[i].DataID {
				return false, nil
			}
			m.Faults--
			return true, m.force(i, permit.Force)
		}},
		{fmt.Sprintf("the node of pod %d is drained", i), func(m *model) (bool, error) {
			if m.Drains == 0 || !m.Pods[i].Runs || !m.sparesPod() {
				return false, nil
			}
			m.Drains--
			m.removePod(i)
			return true, nil
		}},
		fault(fmt.Sprintf("server %d is killed", i), i, func(m *model) { m.Pods[i].Runs = false }),
		fault(fmt.Sprintf("pod %d is deleted", i), i, func(m *model) { m.removePod(i) }),
		fault(fmt.Sprintf("volume %d is emptied, and its server killed", i), i,
			func(m *model) { m.Pods[i].Runs, m.Volumes[i] = false, modelData{} }),
		fault(fmt.Sprintf("volume and pod %d are replaced", i), i,
			func(m *model) { m.removePod(i); m.Volumes[i] = modelData{}; m.Claims[i] = m.newID() }),
		fault(fmt.Sprintf("volume %d is restored from a snapshot of before, with a new pod", i), i, func(m *model) {
			m.removePod(i)
			m.Volumes[i].Writes, m.Volumes[i].Old, m.Claims[i] = 0, true, m.newID()
		}),
	}...)
}

// fault is an event that the number of faults bounds.
func fault(name string, i int, do func(*model)) action {
	return action{name, func(m *model) (bool, error) {
		if m.Faults == 0 || m.Pods[i].UID == "" {
			return false, nil
		}
		m.Faults--
		do(m)
		m.Held = min(m.Held, m.held()) // what no volume has is not lost by the operator
		return true, nil
	}}
}

// TestEveryOrderKeepsTheMajority searches all orders of events from a start, up to a number of states, with FULL=1.
func TestEveryOrderKeepsTheMajority(t *testing.T) {
	before := debug.SetGCPercent(400) // nearly all garbage is small and short-lived
	t.Cleanup(func() { debug.SetGCPercent(before) })
	played, rows := map[string]int{}, 0
	table := []struct {
		name            string
		start           *model
		faults, crashes int
		limit           int
	}{
		{"three form a cluster, one crash", newModel(3, true), 0, 1, 60_000},
		{"three form a cluster, one fault", newModel(3, true), 1, 0, 30_000},
		{"two of three have lost their volumes before they were seen to form, one crash", lostWhileForming(), 0, 1, 1_500},
		{"a cluster of three, one fault and one crash", formed(3, 3, true), 1, 1, 60_000},
		{"a cluster of three without storage, one fault and one crash", formed(3, 3, false), 1, 1, 60_000},
		{"one becomes three, one crash", formed(1, 3, true), 0, 1, 60_000},
		{"one becomes three, one fault", formed(1, 3, true), 1, 0, 60_000},
		{"five become three, one crash", formed(5, 3, true), 0, 1, 60_000},
		{"a majority is lost, one fault", lostMajority(3), 1, 0, 60_000},
		{"a majority is lost, one crash", lostMajority(3), 0, 1, 60_000},
		{"a majority of five is lost", lostMajority(5), 0, 0, 10_000},
		{"five are made anew, one of which has lost its volume", outdatedWithoutOne(), 0, 0, 5_000},
		{"one begins with a backup, one crash", newFromBackup(1, true), 0, 1, 20_000},
		{"three begin with a backup, one fault", newFromBackup(3, true), 1, 0, 30_000},
		{"one begins with a backup without storage, one fault and one crash", newFromBackup(1, false), 1, 1, 20_000},
		{"a backup takes the place of one's data, one fault and one crash", replaced(1, true), 1, 1, 30_000},
		{"a backup takes the place of three's data, one crash", replaced(3, true), 0, 1, 30_000},
		{"a backup takes the place of three's data, one fault", replaced(3, true), 1, 0, 30_000},
		{"a backup takes the place of data without storage, one crash", replaced(3, false), 0, 1, 20_000},
		{"a backup takes the place of what a lost majority has left", replacedWithoutMajority(), 0, 1, 20_000},
		{"three without storage get a template by mistake that never starts, one crash",
			editing(formed(3, 3, false), isUnschedulable, 1), 0, 1, 15_000},
		{"three without storage form with a template that never starts, one crash",
			editing(newModel(3, false), isUnschedulable, 2), 0, 1, 8_000},
		{"three without storage form with a template that never starts, one fault",
			editing(newModel(3, false), isUnschedulable, 1), 1, 0, 6_000},
		{"three form with a template that never starts, one crash", editing(newModel(3, true), isUnschedulable, 1), 0, 1, 6_000},
		{"three without storage get an image by mistake that cannot be pulled, one crash",
			editing(formed(3, 3, false), cannotBePulled, 1), 0, 1, 15_000},
		{"three without storage form with an image that cannot be pulled, one crash",
			editing(newModel(3, false), cannotBePulled, 1), 0, 1, 8_000},
		{"one becomes three with an image by mistake that cannot be pulled, one fault",
			editing(formed(1, 3, false), cannotBePulled, 1), 1, 0, 8_000},
		{"three are to be five, and are not, one crash", resizing(formed(3, 3, true), 5), 0, 1, 15_000},
		{"three without storage are to be one, and are not, one crash", resizing(formed(3, 3, false), 1), 0, 1, 15_000},
		{"three form, are to be one, and are not", resizing(newModel(3, true), 1), 0, 0, 6_000},
		{"three are to go to the next minor version, and are not, one crash", reversioning(formed(3, 3, true)), 0, 1, 15_000},
		{"three form, are to have the next minor version, and are not", reversioning(newModel(3, true)), 0, 0, 6_000},
		{"three form with too little memory", editing(newModel(3, true), isKilled, 2), 0, 0, 6_000},
		{"three without storage get too little memory, one crash", editing(formed(3, 3, false), isKilled, 1), 0, 1, 15_000},
		{"three without storage have too little memory, and one is killed while the operator is stopped",
			killing(editing(formed(3, 3, false), isKilled, 1), 2), 0, 1, 20_000},
		{"one becomes three with a template by mistake that never starts, one crash",
			editing(formed(1, 3, false), isUnschedulable, 1), 0, 1, 15_000},
		{"three go to the next minor version after a backup, one crash", upgrading(3), 0, 1, 10_000},
		{"three go to the next minor version after a backup, one fault", upgrading(3), 1, 0, 10_000},
		{"three of which one is behind go to the next minor version after a backup, one crash", upgradingWithOneBehind(), 0, 1, 8_000},
		{"three are made anew while nodes are drained, one crash", outdated(3, true), 0, 1, 60_000},
		{"three without storage are made anew while nodes are drained, one crash", outdated(3, false), 0, 1, 10_000},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			rows++
			start := c.start.clone()
			start.Faults, start.Crashes = c.faults, c.crashes
			if err := start.clone().settle(); err != nil {
				t.Fatal(err)
			}
			var workers []*explorer
			search := explore.Search[*model, int]{Start: start, Limit: c.limit, RestEvery: 41, NewModel: func() explore.Model[*model, int] {
				workers = append(workers, newExplorer())
				return workers[len(workers)-1]
			}}
			found, healed, all := search.Run(), 0, actions()
			for _, x := range workers {
				healed += x.healed
				for i, times := range x.played {
					played[all[i].kind()] += times
				}
			}
			if found.Fault != nil {
				var words strings.Builder
				for _, move := range found.Fault.Way {
					fmt.Fprintf(&words, "\n  %s", all[move].name)
				}
				t.Fatalf("%v:%s", found.Fault.Err, words.String())
			}
			t.Logf("%d states, %d of which were seen to heal", found.States, healed)
		})
	}
	if rows < len(table) || !explore.IsFull() {
		return // not all was searched
	}
	for _, a := range actions() {
		if played[a.kind()] == 0 {
			t.Errorf("%q was never played: no search says anything about it", a.kind())
		}
	}
}

func TestALostMajorityComesBack(t *testing.T) {
	for size, survivor := range map[int32]int{3: 2, 5: 4} {
		m := lostMajority(size)
		before := m.Volumes[survivor]
		if err := m.settle(); err != nil {
			t.Fatal(err)
		}
		if m.Recovered == "" || m.Held != before.Writes || m.held() != m.Writes || m.Volumes[survivor].ID != before.ID || m.Humans != 1 {
			t.Errorf("got %s", m)
		}
	}
}

// formed returns a cluster of so many members at rest, whose size is then changed.
func formed(members, size int32, storage bool) *model {
	m := newModel(members, storage)
	if err := m.settle(); err != nil {
		panic(err)
	}
	m.write()
	m.Size = size
	return m
}

// outdated returns a cluster whose pods are all to be made anew, while nodes are drained.
func outdated(size int32, storage bool) *model {
	m := formed(size, size, storage)
	m.Drains = 2
	for i := range m.Replicas {
		m.Pods[i].Outdate = true
	}
	return m
}

// outdatedWithoutOne is one of five, of which one that is not the last has lost its volume.
func outdatedWithoutOne() *model {
	m := outdated(5, true)
	m.Drains = 0
	m.Pods[2].Runs, m.Volumes[2] = false, modelData{}
	return m
}

// lostMajority returns a cluster whose first members have lost their data. The first of those that are left lacks the last write.
// A human looks twice.
func lostMajority(size int32) *model {
	m := formed(size, size, true)
	lost := int(size/2 + 1)
	m.Pods[lost].Runs = false
	m.write()
	m.Pods[lost].Runs, m.Humans = true, 2
	for i := range lost {
		m.Pods[i].Runs, m.Volumes[i] = false, modelData{}
	}
	return m
}

// lostWhileForming returns a cluster whose members have met while the operator was away. Then two have lost their volumes.
func lostWhileForming() *model {
	m := newModel(3, true)
	for range 4 { // Form, and one pass for each member that begins
		if _, err := runPass(0, false)(m); err != nil {
			panic(err)
		}
		for i := range m.Replicas {
			if m.Pods[i].UID == "" {
				m.Pods[i].UID = fmt.Sprintf("p%d", m.newID())
			}
		}
	}
	for i := range m.Replicas {
		if err := m.startServer(int(i)); err != nil {
			panic(err)
		}
	}
	for i := range 2 {
		m.Pods[i].Runs, m.Volumes[i] = false, modelData{}
	}
	return m
}

// settle lets everything happen that can, but faults, until the cluster is as large as it shall be and all members run. It
// returns an error if it does not get there.
func (m *model) settle() error {
	m.Faults, m.Crashes, m.Edits, m.Kills, m.OtherSize, m.VersionEdits = 0, 0, 0, 0, 0, 0
	for range 60 {
		for _, a := range actions() {
			next := m.clone()
			happened, err := a.happen(next)
			if err != nil {
				return err
			}
			if happened {
				*m = *next
			}
		}
		if m.atRest() {
			return nil
		}
	}
	return broken("it does not come to rest: " + m.String())
}

// atRest reports whether as many voters run as there shall be, of the latest template, and all are on record.
func (m *model) atRest() bool {
	record := m.Status.Membership
	if record == nil || record.ClusterID == "" || record.Restore != nil || m.isAwaited() || m.Writes < m.Backup || record.Change != nil || len(m.Raft) != int(m.Size) || len(record.Members) != int(m.Size) {
		return false
	}
	for i, one := range m.Raft {
		if one.Learner || m.Pods[ordinalOf(one.Name)].Outdate || !m.runs(ordinalOf(one.Name), one.ID) || m.raft(mustParseID(record.Members[i].ID)) == nil {
			return false
		}
	}
	return true
}

// isAwaited reports whether something is yet to come that was asked for.
func (m *model) isAwaited() bool {
	return m.hasMistakes() || len(m.Fetches) > 0 || !m.isUpgraded() || m.Request != ""
}

func mustParseID(text string) uint64 {
	id, err := membership.ParseID(text)
	if err != nil {
		panic(err)
	}
	return id
}

// isStuckWithoutMemory reports whether so many servers are killed again and again, in pods that take their data along, that the others are
// no majority: only a human can give up what these pods have.
func (m *model) isStuckWithoutMemory() bool {
	voters, left := 0, 0
	for _, one := range m.Raft {
		if p := m.Pods[ordinalOf(one.Name)]; !one.Learner {
			voters++
			if m.holds(one) && (m.Storage || p.Broken != isKilled || p.Runs) {
				left++
			}
		}
	}
	return left <= voters/2
}

// hasMajority reports whether a majority of the voters has its data, or none has met yet: only then does it heal by itself.
func (m *model) hasMajority() bool {
	voters, having := 0, 0
	for _, one := range m.Raft {
		if !one.Learner {
			voters++
			if m.holds(one) {
				having++
			}
		}
	}
	return voters > 0 && having > voters/2
}

// canHeal reports whether nothing but time is needed, or a human who is there.
func (m *model) canHeal() bool {
	isAwake := m.Asleep == nil // one that wakes may record what it saw run, and what has lost its data since
	isNotFormed := isAwake && m.Status.Membership != nil && m.Status.Membership.ClusterID == ""
	isHelped := isAwake && m.canRestore() || m.held() > 0 && (m.Humans > 0 || m.isRecovering())
	return m.hasMajority() && !m.isStuckWithoutMemory() || isHelped || isNotFormed && m.held() == 0
}

// isRecovering reports whether a recovery is on record, from a member that has its data.
func (m *model) isRecovering() bool {
	record := m.Status.Membership
	return record != nil && record.Change != nil && record.Change.Type == databasev1alpha1.EtcdRecover &&
		slices.ContainsFunc(m.Raft, func(one modelMember) bool { return one.Name == record.Change.Name && m.holds(one) })
}

// checkAfter returns which promise is broken, by the model itself or on the way from the one before.
func (m *model) checkAfter(before *model) error {
	switch isFault := m.Faults != before.Faults || m.Kills != before.Kills || m.isReplacing(); {
	case !isFault && before.keepsWrites() && !m.keepsWrites():
		return broken("no majority has what was confirmed, without any fault")
	case !isFault && before.hasQuorum() && !m.hasQuorum():
		return broken("no majority runs, without any fault")
	}
	return m.check()
}

// explorer is one worker's model: the moves are places among the actions. It counts how often each was played, and after how many
// states the cluster was seen to heal.
type explorer struct {
	actions []action
	played  []int
	healed  int
	spare   *model // that nothing refers to
}

func newExplorer() *explorer {
	all := actions()
	return &explorer{actions: all, played: make([]int, len(all))}
}

func (x *explorer) Successors(from *model) iter.Seq2[int, *model] {
	return func(yield func(int, *model) bool) {
		for i := range x.actions {
			if next := x.play(from, i); next != nil && !yield(i, next) {
				return
			}
		}
	}
}

func (x *explorer) Apply(from *model, move int) *model { return x.play(from, move) }

// play an action; nil if it cannot happen.
func (x *explorer) play(from *model, move int) *model {
	next := from.cloneInto(x.spare)
	happened, err := x.actions[move].happen(next)
	if !happened {
		x.spare = next
		return nil
	}
	x.spare = nil
	x.played[move]++
	if err == nil {
		err = next.checkAfter(from)
	}
	if err != nil {
		next.violation = fmt.Errorf("%w: %s", err, next)
	}
	return next
}

func (*explorer) Key(m *model) uint64 { return m.key() }

func (*explorer) Check(m *model) error { return m.violation }

// CheckRest returns an error if the cluster does not heal by itself although it can.
func (x *explorer) CheckRest(m *model) error {
	if !m.canHeal() {
		return nil
	}
	x.healed++
	return m.clone().settle()
}
