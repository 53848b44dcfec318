package redis

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// The message with the way out must not be hidden by what can wait.
func TestABlockedPromotionIsReportedFirst(t *testing.T) {
	u := recordedSet(3, true)
	p := u.direct()
	p.redis.Spec.Storage = &cachev1alpha1.RedisStorage{Size: resource.MustParse("2Gi")}
	p.spec = config.Resolve(p.redis)
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
			if got := meta.FindStatusCondition(p.redis.Status.Conditions, commonv1.ConditionDegraded); got == nil || got.Reason != row.reason {
				t.Errorf("%+v, want the reason %s", got, row.reason)
			}
		})
	}
}
