package etcd

import (
	"strings"
	"testing"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"
)

// A wait says what it waits for; without news for some minutes, also what it sees, until there is news.
func TestALongWaitSaysWhatItSees(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := &Reconciler{clock: clock}
	s := newSeen()
	s.w.Members[2].View, s.w.Members[2].Pod.HasRun, s.w.Members[2].Pod.Ready = membership.View{}, false, false
	step := membership.Step{Do: membership.Wait, Message: "waiting for a-2", RequeueAfter: time.Second}
	progress := func() string {
		t.Helper()
		f := &fleet{spec: resolve(s.e, []string{"etcd:5", "etcd:6", "etcd:7"}), World: s.w}
		r.updateStatus(s.e, f, step, workload{set: s.set})
		return meta.FindStatusCondition(s.e.Status.Conditions, commonv1.ConditionProgressing).Message
	}
	const seen = "the container of pod a-2 has not started"
	for _, c := range []struct {
		after time.Duration
		what  string
		says  bool
	}{{0, "waiting for a-2", false}, {waitPatience - 1, "waiting for a-2", false}, {1, "waiting for a-2", true}, {time.Hour, "waiting for a-2", true},
		{time.Second, "waiting for a-1, a-2", false}, {waitPatience, "waiting for a-1, a-2", true}} {
		clock.SetTime(clock.Now().Add(c.after))
		step.Message = c.what
		if got := progress(); strings.Contains(got, seen) != c.says || !strings.Contains(got, c.what) {
			t.Errorf("%s later: %q", c.after, got)
		}
	}
}
