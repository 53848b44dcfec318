package redis

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestWhatNeedsAHumanIsNamed(t *testing.T) {
	for _, c := range []struct {
		reason, kind, says string
		given              func(*fixture.Scene)
	}{
		{"a second master", commonv1.ConditionSplitBrain, "a-0 and a-2 take writes", func(s *fixture.Scene) { s.Nodes[2].Master = true }},
		{"masters of which none is on record", commonv1.ConditionSplitBrain, "no record says which is right", func(s *fixture.Scene) {
			s.Nodes[1].Master = true
			s.Status.Replication = nil
		}},
		{"what awaits a decision, a full disk and too small a size or not", commonv1.ConditionDegraded, "annotate this object", func(s *fixture.Scene) {
			fixture.Refused(&s.Nodes[0])
			fixture.FencedAt(&s.Nodes[1], 90)
			fixture.MakeSilent(&s.Nodes[2])
			s.Nodes[1].Misconf = true
			s.Spec.Storage = &cachev1alpha1.RedisStorage{Size: resource.MustParse("1Gi")}
		}},
		{"a full disk", commonv1.ConditionDegraded, "a-1 cannot write to disk", func(s *fixture.Scene) { s.Nodes[1].Misconf = true }},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := fixture.Healthy(3)
			set := &appsv1.StatefulSet{}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
			set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = fixture.StorageOf("2Gi")
			told := func() (bool, string) {
				next := s.Situation().Plan()
				list := newStatus(s.Redis, s.Situation(), next, workload{set: set}).Conditions
				setBlocked(&list, s.Generation, next)
				got := meta.FindStatusCondition(list, c.kind)
				return got.Status == "True", got.Message
			}
			if is, message := told(); is {
				t.Errorf("of a healthy set: %s", message)
			}
			c.given(s)
			if is, message := told(); !is || !strings.Contains(message, c.says) {
				t.Errorf("%t: %s", is, message)
			}
		})
	}
}

// The message with the way out must not be hidden by what can wait.
func TestABlockedPromotionIsToldFirst(t *testing.T) {
	u := recordedSet(3, true)
	f, redis := u.direct()
	redis.Spec.Storage = &cachev1alpha1.RedisStorage{Size: resource.MustParse("2Gi")}
	f.spec = config.Resolve(redis)
	f.GrowthRefusal = "the quota is used up"
	r := &Reconciler{clock: modelClock}
	for name, row := range map[string]struct {
		next   topology.Step
		reason string
	}{
		"a human is asked":       {topology.Step{Do: topology.Block, Message: "annotate it"}, commonv1.ReasonPromotionBlocked},
		"which master is right":  {topology.Step{Do: topology.Block, Reason: commonv1.ReasonSeveralMasters, Message: "two"}, commonv1.ReasonSeveralMasters},
		"nothing else is urgent": {topology.Step{Do: topology.Idle}, commonv1.ReasonRefusedByServer},
	} {
		t.Run(name, func(t *testing.T) {
			r.updateStatus(redis, f, row.next, converge.Observed{}, nil)
			if got := meta.FindStatusCondition(redis.Status.Conditions, commonv1.ConditionDegraded); got == nil || got.Reason != row.reason {
				t.Errorf("%+v, want the reason %s", got, row.reason)
			}
		})
	}
}
