package redis

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// The message with the way out must not be hidden by what can wait.
func TestABlockedPromotionIsReportedFirst(t *testing.T) {
	s := fixture.WithVolumes(fixture.Healthy(3))
	s.Spec.Storage.Size = resource.MustParse("2Gi")
	p := (&Reconciler{clock: clock.RealClock{}}).newPass(s.Redis, nil)
	p.World = s.World
	p.GrowthRefusal = "the quota is used up"
	for name, row := range map[string]struct {
		next   topology.Step
		reason string
	}{
		"a human is asked": {topology.Step{Do: topology.Block, Message: "annotate it"}, commonv1.ReasonPromotionBlocked},
		"which master is right": {topology.Step{Do: topology.Block, Reason: commonv1.ReasonSeveralMasters, Message: "two"},
			commonv1.ReasonSeveralMasters},
		"nothing else is urgent": {topology.Step{Do: topology.Idle}, commonv1.ReasonRefusedByServer},
	} {
		t.Run(name, func(t *testing.T) {
			p.step = row.next
			p.updateStatus()
			if got := meta.FindStatusCondition(p.Redis.Status.Conditions, commonv1.ConditionDegraded); got == nil || got.Reason != row.reason {
				t.Errorf("%+v, want the reason %s", got, row.reason)
			}
		})
	}
}

// While the API server does not confirm addresses in time, the servers are not asked, and the status stays as it is.
func TestTheStatusSurvivesASlowAPIServer(t *testing.T) {
	s := fixture.Healthy(3)
	p := (&Reconciler{clock: clock.RealClock{}}).newPass(s.Redis, nil)
	p.World, p.Credentials, p.step = s.World, fixture.Started("p", ""), topology.Step{Do: topology.Idle}
	p.updateStatus()
	before := s.Status.DeepCopy()
	p.Nodes[0].View = wire.View{Answer: wire.Unconfirmed}
	p.step = p.Situation().Plan()
	if result := p.updateStatus(); result.RequeueAfter == 0 {
		t.Error("no one looks again")
	}
	if !reflect.DeepEqual(&s.Status, before) {
		t.Errorf("got %+v, want %+v", s.Status, before)
	}
}
