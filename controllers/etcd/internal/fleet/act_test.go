package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
)

// A pass that has put another record in the place of the one that it had read gives no pod a permit by the former one.
func TestPermitsFollowTheLatestRecord(t *testing.T) {
	m := replaced(1, true)
	for range 5 { // until the restore is recorded
		for i := range m.Fetches {
			m.Fetches[i].Has = true
		}
		m.Pods[0].Serves, m.Pods[0].Runs = false, false // so that it is given whatever is new
		m.Status.Membership.Members[0].Ran = false
		if _, err := runPass(0)(m); err != nil {
			t.Fatal(err)
		}
		if m.isReplacing() {
			break
		}
	}
	if !m.isReplacing() || strings.Contains(m.Pods[0].Permit, "restore") {
		t.Errorf("the earlier pod is given the permit %s", m.Pods[0].Permit)
	}
}

func TestARecoverySavesWhatItContinuesFrom(t *testing.T) {
	m := lostMajority(3)
	m.Status.Membership.Members[2].Ran, m.Status.CompactedRevision = false, 9
	for range 30 { // a pass does one step, and the lost members must be seen to be
		for i := range 2 {
			if err := m.startServer(i); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := allowRecovery(m); err != nil {
			t.Fatal(err)
		}
		if _, err := runPass(0)(m); err != nil {
			t.Fatal(err)
		}
		if m.Status.LastRecovery != nil {
			break
		}
	}
	r, record := m.Status.LastRecovery, m.Status.Membership
	if r == nil || r.Member != "a-2" || len(r.Lost) != 2 || r.Revision != int64(1+m.Volumes[2].Writes) || m.Status.CompactedRevision != 0 {
		t.Errorf("got %+v", r)
	}
	if len(record.Members) != 1 || !record.Members[0].Ran || record.Change == nil || record.Change.Recovery == "" {
		t.Errorf("got %+v", record)
	}
}

// The member of a recovery that has ended at an earlier revision does not answer: its launcher has said where it ends.
func TestARecoveryFromAnEarlierRevisionSavesThat(t *testing.T) {
	m := lostMajority(3)
	e := m.object()
	f := m.fleet(e, &modelEffects{model: m, object: e, version: m.Version})
	for i := range f.Members {
		f.Members[i].View, f.Members[i].Pod.RecoveredTo = membership.View{}, 70
	}
	if err := f.Act(t.Context(), membership.Step{Do: membership.Recover, Member: "a-2", Lost: []string{"a-0"}}); err != nil {
		t.Fatal(err)
	}
	if last := m.Status.LastRecovery; last.Revision != 70 || len(last.Lost) != 1 {
		t.Errorf("got %+v", last)
	}
}

// A verb that acts and has no act would be done with at once.
func TestEachVerbThatActsHasAnAct(t *testing.T) {
	acting := membership.ActingVerbs()
	for _, verb := range acting {
		if acts[verb] == nil {
			t.Errorf("%s has no act", verb)
		}
	}
	if len(acts) != len(acting) {
		t.Errorf("%d acts for %d verbs", len(acts), len(acting))
	}
}

// outdatedEffects are those of a pass whose object is older than the API server's. Any other effect is a panic.
type outdatedEffects struct{ Effects }

var errOutdated = errors.New("the cache is behind")

func (outdatedEffects) Confirm(context.Context) error { return errOutdated }

// An older record may ask to delete a pod, or to remove a member, that is wanted by now.
func TestAnOlderRecordTakesNothingAway(t *testing.T) {
	taking := []membership.Verb{membership.DeletePod, membership.EvictPod, membership.RemoveMember, membership.DropUser,
		membership.DeleteFetchPod, membership.EndRestore, membership.DeleteUpgradeBackup}
	for _, verb := range taking {
		f := &Fleet{Cluster: &databasev1alpha1.EtcdCluster{}, Effects: outdatedEffects{}}
		ctx := logr.NewContext(t.Context(), logr.Discard())
		if err := f.Act(ctx, membership.Step{Do: verb, Member: "a-2"}); !errors.Is(err, errOutdated) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// What must end by itself first is waited for. Users see an error only if something is wrong.
func TestWhatIsShownOfAStep(t *testing.T) {
	step := membership.Step{Do: membership.EvictPod, Member: "a-2"}
	for _, c := range []struct {
		name   string
		err    error
		want   membership.Verb
		failed bool
	}{
		{"it is done", nil, membership.EvictPod, false},
		{"the budget spares no pod yet", ErrNoDisruptionAllowed, membership.Wait, false},
		{"the pod may have started", ErrPodChanged, membership.Wait, false},
		{"the EtcdRestore is gone", ErrWithdrawn, membership.Wait, false},
		{"a backup must be complete first", fmt.Errorf("%w: backing up", errNotBackedUp), membership.Wait, false},
		{"the learner lacks entries", wire.ErrLearnerBehind, membership.Wait, false},
		{"budgets block it", &EvictionBlockedError{Message: "two budgets", RetryAfter: time.Second}, membership.Block, false},
		{"the server refuses", errors.New("refused"), membership.EvictPod, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Outcome(step, c.err)
			if got.Do != c.want || (err != nil) != c.failed || (got.Do == membership.Wait) != (got.RequeueAfter > 0 && got.Reason == "") {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
