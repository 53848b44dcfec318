package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// orderedEffects note what is done, and in which order.
type orderedEffects struct {
	*modelEffects
	done []string
}

func (o *orderedEffects) Save(ctx context.Context) error {
	o.done = append(o.done, fmt.Sprintf("save %d", o.object.Status.Membership.Revision))
	return o.modelEffects.Save(ctx)
}

func (o *orderedEffects) StampClaims(ctx context.Context, stamp membership.Stamp) error {
	text := fmt.Sprintf("stamp %d", stamp.Revision())
	if change := stamp.Membership.Change; change != nil {
		text += fmt.Sprintf(" %s %s", change.Type, change.Name)
	}
	o.done = append(o.done, text)
	return o.modelEffects.StampClaims(ctx, stamp)
}

func (o *orderedEffects) WritePermit(_ context.Context, name, _ string, _ types.UID) error {
	o.done = append(o.done, "permit "+name)
	return nil
}

// orderedServer notes that a member is removed.
type orderedServer struct {
	server
	effects *orderedEffects
}

func (o orderedServer) Remove(ctx context.Context, id uint64) error {
	o.effects.done = append(o.effects.done, "remove")
	return o.server.Remove(ctx, id)
}

// ordered is what a pass over a model sees. Its effects are noted.
func ordered(m *model) (*Fleet, *orderedEffects) {
	e := m.object()
	effects := &orderedEffects{modelEffects: &modelEffects{model: m, object: e, version: m.Version}}
	f := m.fleet(e, effects.modelEffects)
	f.Effects = effects
	for name, s := range f.servers {
		f.servers[name] = orderedServer{s, effects}
	}
	return f, effects
}

// Nothing happens that a later object of this name would not know of: the claims are stamped before etcd removes a member, before a pod may
// start, and before any act.
func TestTheClaimsAreStampedFirst(t *testing.T) {
	ctx := logr.NewContext(t.Context(), logr.Discard())
	for _, c := range []struct {
		name  string
		start *model
		do    func(*model, *Fleet) error
		want  string
	}{
		{"a cluster of an earlier release is stamped at once", deleting(formed(3, 3, true)), func(m *model, f *Fleet) error {
			f.Cluster.Status.Membership.Revision = 0
			for i := range f.Claims {
				f.Claims[i].Stamp, m.Stamps[i] = "", ""
			}
			return f.Act(ctx, membership.Step{Do: membership.Idle})
		}, "save 1, stamp 1"},
		{"a cluster at rest is left alone", deleting(formed(3, 3, true)), func(_ *model, f *Fleet) error {
			return errors.Join(f.Act(ctx, membership.Step{Do: membership.Idle}), f.WritePermits(ctx))
		}, ""},
		{"a member is removed once the claims show that it leaves", deleting(formed(3, 1, true)), func(_ *model, f *Fleet) error {
			return f.Act(ctx, membership.Step{Do: membership.RemoveMember, Member: "a-2"})
		}, "save 6, stamp 6 Remove a-2, remove, save 7"},
		{"a removal that was cut short continues once the claims show it", deleting(formed(3, 1, true)), func(_ *model, f *Fleet) error {
			member, _ := f.Find("a-2")
			f.Cluster.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRemove, Name: "a-2",
				ID: member.CurrentID()}
			f.Cluster.Status.Membership.Revision++
			return f.Act(ctx, membership.Step{Do: membership.RemoveMember, Member: "a-2"})
		}, "stamp 6 Remove a-2, remove, save 7"},
		{"a pod may start once the claims name it", deleting(formed(3, 3, true)), func(_ *model, f *Fleet) error {
			f.Members[2].Pod.UID, f.Members[2].Pod.Permit, f.Members[2].View = "another", "", membership.View{}
			f.Cluster.Status.Membership.Revision++
			return f.WritePermits(ctx)
		}, "stamp 6, permit a-2"},
		{"an earlier status that was restored gets a revision beyond all claims", deleting(formed(3, 3, true)), func(_ *model, f *Fleet) error {
			f.Cluster.Status.Membership.Revision = 3
			return f.Act(ctx, membership.Step{Do: membership.Idle})
		}, "save 6, stamp 6"},
		{"what is stamped ahead of an act is not stamped again", deleting(formed(3, 3, true)), func(_ *model, f *Fleet) error {
			f.Cluster.Status.Membership.Revision++
			return errors.Join(f.StampAhead(ctx), f.Act(ctx, membership.Step{Do: membership.Idle}))
		}, "stamp 6"},
		{"nothing is stamped ahead of a save", deleting(formed(3, 3, true)), func(_ *model, f *Fleet) error {
			f.Cluster.Status.Membership.Revision = 3
			return f.StampAhead(ctx)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, effects := ordered(c.start)
			if err := c.do(c.start, f); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(effects.done, ", "); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// Nothing follows from a record that the claims do not have.
func TestWithoutAStampNothingIsDone(t *testing.T) {
	ctx := logr.NewContext(t.Context(), logr.Discard())
	m := deleting(formed(3, 1, true))
	f, effects := ordered(m)
	f.Cluster.Status.Membership.Revision++
	for i := range m.Stamps { // a later one that the cache does not have
		later := f.Situation().Stamp()
		later.Membership.Revision++
		m.Stamps[i] = later.For(m.claimUID(i))
	}
	if err := f.Act(ctx, membership.Step{Do: membership.MoveLeader, Member: "a-0", Target: "a-1"}); !errors.Is(err, errStale) {
		t.Errorf("got %v", err)
	}
	f.Members[2].Pod.UID, f.Members[2].Pod.Permit, f.Members[2].View = "another", "", membership.View{}
	if err := f.WritePermits(ctx); !errors.Is(err, errStale) || m.Lead != 0 || strings.Contains(strings.Join(effects.done, ","), "permit") {
		t.Errorf("got %v: %v", err, effects.done)
	}
}

// When the time of an act is over before it has started, nothing is sent any more: the plan is made once more. A step that does nothing
// stays as it is.
func TestAnActThatStartsTooLateWaits(t *testing.T) {
	ctx, end := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	end()
	m := deleting(formed(3, 3, true))
	f, effects := ordered(m)
	err := f.Act(ctx, membership.Step{Do: membership.RemoveMember, Member: "a-2"})
	if shown, failed := Outcome(membership.Step{Do: membership.RemoveMember}, err); !errors.Is(err, errTooLate) || failed != nil ||
		shown.Do != membership.Wait || len(effects.done) > 0 {
		t.Errorf("got %v, shown as %s, %v: %v", err, shown, failed, effects.done)
	}
	if err := f.Act(ctx, membership.Step{Do: membership.Idle}); err != nil {
		t.Error(err)
	}
}

// The cache may have claims that have changed since.
func TestOnlyWhatTheAPIServerHasIsReused(t *testing.T) {
	ctx := logr.NewContext(t.Context(), logr.Discard())
	for name, changed := range map[string]bool{"nothing has changed": false, "the claims were replaced": true} {
		t.Run(name, func(t *testing.T) {
			m := deleting(formed(3, 3, true))
			before := m.Status.Membership
			for i := range m.Pods {
				m.removePod(i)
			}
			if happens, err := applyAgain(m); !happens || err != nil {
				t.Fatal(err)
			}
			f, _ := ordered(m)
			step := f.Situation().Plan()
			if changed {
				m.dropClaim(0)
				m.dropClaim(1)
			}
			err := f.Act(ctx, step)
			after := m.Status.Membership
			if step.Do != membership.ReuseVolumes || errors.Is(err, errClaimsChanged) != changed || (after == nil) != changed {
				t.Fatalf("%s: %v, %+v", step, err, after)
			}
			if !changed && (after.Revision <= before.Revision || after.ClusterID != before.ClusterID || len(after.Members) != 3) {
				t.Errorf("got %+v", after)
			}
		})
	}
}

// A record that takes the place of another continues its revisions: a claim with the earlier one must not be the latest.
func TestARevisionOnlyRises(t *testing.T) {
	for name, start := range map[string]func(*Fleet) error{
		"a backup takes the place of all data": func(f *Fleet) error {
			return f.doStartRestore(t.Context(), membership.Step{Do: membership.StartRestore, Restore: &databasev1alpha1.EtcdMembershipRestore{}})
		},
		"a cluster is formed again": func(f *Fleet) error {
			return saved((*Fleet).recordForming)(f, t.Context(), membership.Step{Do: membership.Form, Version: "3.6.16"})
		},
		"a claim has a later one": func(f *Fleet) error {
			stamp := membership.Stamp{Membership: databasev1alpha1.EtcdMembership{Token: "t", Revision: 7,
				Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", DataID: "d"}}}}
			f.Claims, f.Cluster.Status.Membership.Revision = []membership.Claim{{UID: "c", Stamp: stamp.For("c")}}, 0
			return f.save(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &databasev1alpha1.EtcdCluster{Status: databasev1alpha1.EtcdClusterStatus{
				Membership: &databasev1alpha1.EtcdMembership{Revision: 7}}}
			f := &Fleet{Cluster: e, Spec: membership.Spec{Name: "a", Size: 1}, Effects: savedEffects{}}
			if err := start(f); err != nil || e.Status.Membership.Revision != 8 {
				t.Errorf("revision %d, %v", e.Status.Membership.Revision, err)
			}
		})
	}
}
