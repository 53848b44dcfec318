package redis

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// A leader that was stopped takes the master that another has made for a usurper.
func TestWokenLeaderFencesNoOne(t *testing.T) {
	u := newModel(1, 0, false)
	u.procs[0].master = true
	p := u.direct()
	usurper := topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}}
	leads := false
	p.IsLeader = func() bool { return leads }

	if acted, err := p.actAsLeader(quiet, usurper); acted || !errors.Is(err, command.ErrNotLeading) || !u.procs[0].master {
		t.Errorf("another leads: %v, still master: %t", err, u.procs[0].master)
	}
	leads = true
	if _, err := p.actAsLeader(quiet, usurper); err != nil || u.procs[0].master {
		t.Errorf("it leads: %v, still master: %t", err, u.procs[0].master)
	}
}

// An operator that was in charge, was stopped, and wakes when another has taken over, dials again. The record shows it.
func TestEveryActAsksForTheRecord(t *testing.T) {
	u := newModel(1, 0, false)
	u.procs[0].master = true
	p := u.direct()
	usurper := topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}}
	behind := errors.New("behind")
	p.effects = scripted{changed: behind, stamped: behind}
	for _, do := range []topology.Verb{topology.Idle, topology.Wait, topology.Block} {
		if acted, err := p.actAsLeader(quiet, topology.Step{Do: do}); !acted || err != nil {
			t.Errorf("nothing is asked to %s: %v", do, err)
		}
	}
	if acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.ApplySettings}); acted || !errors.Is(err, behind) {
		t.Errorf("settings are applied: %v", err)
	}
	if acted, err := p.actAsLeader(quiet, usurper); acted || !errors.Is(err, behind) || !u.procs[0].master {
		t.Errorf("the record is older: %v, still master: %t", err, u.procs[0].master)
	}
	p.Identity = "a new one" // which leaves all as it is, and may not know what the servers run with
	if acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.ApplySettings}); !acted || err != nil {
		t.Errorf("settings are applied by one that is not in charge: %v", err)
	}
	p.Identity = ""
	p.effects = scripted{stamped: behind}
	if acted, err := p.actAsLeader(quiet, usurper); !acted || err != nil || u.procs[0].master {
		t.Errorf("it is the newest: %v, still master: %t", err, u.procs[0].master)
	}
}

// A cache that was just filled may be older than what the operator before has written on the volumes.
func TestNoOneTakesOverByOlderStamps(t *testing.T) {
	p := newModel(1, 0, false).direct()
	behind := errors.New("behind")
	p.Identity = "another"
	p.effects = scripted{stamped: behind, onSave: func() error { t.Error("it has taken over"); return nil }}
	if acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}}); acted || !errors.Is(err, behind) {
		t.Errorf("acted: %t, %v", acted, err)
	}
}

// A take-over whose save failed may have arrived after all. From then on no connection counts as closed, and the
// object is saved as ours by takeOver alone.
func TestATakeOverThatFailsLeavesNothingBehind(t *testing.T) {
	p := newModel(1, 0, false).direct()
	lost := errors.New("the reply is lost")
	p.Identity, p.redis.Status.HolderIdentity = "this", "another"
	run := p.Nodes[0].RunID
	p.known.noteOthersKilled(run)
	p.effects = scripted{onSave: func() error { return lost }}
	if acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}}); acted || !errors.Is(err, lost) {
		t.Errorf("acted: %t, %v", acted, err)
	}
	if p.redis.Status.HolderIdentity != "another" || p.known.commands[run].OthersKilled {
		t.Errorf("held by %q, others killed: %t", p.redis.Status.HolderIdentity, p.known.commands[run].OthersKilled)
	}
}

// An API server with an older CRD drops the field, and no one would be in charge.
func TestATakeOverThatIsNotKeptIsReported(t *testing.T) {
	p := newModel(1, 0, false).direct()
	p.Identity = "this"
	p.effects = scripted{onSave: func() error { p.redis.Status.HolderIdentity = ""; return nil }}
	acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}})
	if acted || err == nil || !strings.Contains(err.Error(), "CustomResourceDefinitions") {
		t.Errorf("acted: %t, %v", acted, err)
	}
}

// refusesToKill is a server that answers, and closes no connections.
type refusesToKill struct{ server }

func (refusesToKill) KillOtherOperators(context.Context) error { return errNoAnswer }

// Who closes no connections of others may still obey them: it counts as silent, and the rest continue without it.
func TestOneThatCannotBeTakenOverHoldsNoOneUp(t *testing.T) {
	u := recordedSet(3, true)
	u.record.members[2] = reference{} // it has confirmed nothing
	masterDies(u)
	p, _ := u.noting()
	p.servers["a-2"] = refusesToKill{p.servers["a-2"]}
	if _, err := p.execute(quiet, topology.Step{Do: topology.Promote, NodeNames: []string{"a-1"}}); err != nil {
		t.Fatal(err)
	}
	if silent, _ := p.Find("a-2"); silent.Answer != wire.Silent || !u.procs[1].master {
		t.Errorf("a-2 is %v, a-1 is master: %t", silent.Answer, u.procs[1].master)
	}
}

func TestUnchanged(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := cachev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored := &cachev1alpha1.Redis{}
	stored.Namespace, stored.Name, stored.UID, stored.ResourceVersion = "ns", "a", "one", "7"
	r := &Reconciler{}
	r.APIReader = fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).Build()

	for reason, change := range map[string]func(*cachev1alpha1.Redis){
		"it was written since":      func(r *cachev1alpha1.Redis) { r.ResourceVersion = "6" },
		"it is another of the name": func(r *cachev1alpha1.Redis) { r.UID = "another" },
	} {
		p := r.newPass(stored.DeepCopy(), nil)
		if err := p.checkUnchanged(t.Context()); err != nil {
			t.Errorf("it is the same: %v", err)
		}
		if change(p.redis); !apierrors.IsConflict(p.checkUnchanged(t.Context())) {
			t.Errorf("%s: %v", reason, p.checkUnchanged(t.Context()))
		}
	}
	p := r.newPass(stored.DeepCopy(), nil)
	p.redis.Name = "b"
	if err := p.checkUnchanged(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("it is gone: %v", err)
	}
}

// An act that changes nothing of the record is one of the operator that leads, or none.
func TestASaveThatWritesNothingAsks(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(cachev1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	redis := &cachev1alpha1.Redis{}
	redis.Namespace, redis.Name = "ns", "a"
	for name, row := range map[string]struct {
		version, written string
		stale            bool
	}{
		"nothing to write, and no one else wrote": {"999", "999", false},
		"nothing to write, and another has":       {"998", "998", true},
		"written":                                 {"999", "1000", false},
	} {
		t.Run(name, func(t *testing.T) {
			seen := redis.DeepCopy()
			p := (&Reconciler{}).newPass(seen, func(context.Context) error { seen.ResourceVersion = row.written; return nil })
			p.APIReader = fake.NewClientBuilder().WithScheme(scheme).WithObjects(redis.DeepCopy()).Build()
			p.redis.ResourceVersion = row.version
			if err := p.save(t.Context()); apierrors.IsConflict(err) != row.stale || !row.stale && err != nil {
				t.Error(err)
			}
		})
	}
}

// A promotion goes by the stamps where no process is left.
func TestUnchangedStamps(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(cachev1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	redis := &cachev1alpha1.Redis{Spec: cachev1alpha1.RedisSpec{Size: ptr.To[int32](1), Storage: &cachev1alpha1.RedisStorage{}}}
	redis.Namespace, redis.Name = "ns", "a"
	newest := topology.Stamp{Epoch: 7, ReplID: "h"}
	stored := &corev1.PersistentVolumeClaim{}
	stored.Namespace, stored.Name, stored.UID, stored.Labels = "ns", children.DataVolume+"-a-0", "one", parts.Labels(config.AppName, "a")
	stored.Annotations = newest.Annotations()
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(redis, stored).Build()
	recreated := stored.DeepCopy()
	recreated.UID = "another"

	for name, row := range map[string]struct {
		seen   map[string]topology.Volume
		behind bool
	}{
		"the same":        {map[string]topology.Volume{"a-0": {Stamp: newest, Claim: stored}}, false},
		"stamped since":   {map[string]topology.Volume{"a-0": {Stamp: topology.Stamp{Epoch: 6, ReplID: "h"}, Claim: stored}}, true},
		"recreated since": {map[string]topology.Volume{"a-0": {Stamp: newest, Claim: recreated}}, true},
		"made since":      {nil, true},
		"deleted since":   {map[string]topology.Volume{"a-0": {Stamp: newest, Claim: stored}, "a-1": {Stamp: newest, Claim: stored}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := (&Reconciler{}).newPass(redis.DeepCopy(), nil)
			p.Volumes = row.seen
			p.APIReader = live
			if err := p.checkStamps(t.Context()); apierrors.IsConflict(err) != row.behind || !row.behind && err != nil {
				t.Error(err)
			}
		})
	}
}
