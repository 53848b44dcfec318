package redis

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestMargin(t *testing.T) {
	for _, c := range []struct {
		reason string
		size   int32
		given  func(*scene)
		want   int
	}{
		{"all are in sync: one more may go", 3, func(*scene) {}, 0},
		{"one is away and may hold what the other lacks", 3, func(s *scene) { makeSilent(&s.members[2]) }, -1},
		{"with W=2 any one of two has all", 3, func(s *scene) {
			s.Status.Replication.EffectiveMinReplicas = 2
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
		}, 1},
		{"which the spec no longer asks for", 3, func(s *scene) { s.Status.Replication.EffectiveMinReplicas = 2 }, 0},
		{"nobody is in sync", 3, linksDown, -1},
		{"there is no master", 3, func(s *scene) { makeSilent(&s.members[0]) }, -1},
	} {
		s := healthy(c.size)
		c.given(s)
		if got, why := s.situation().quorumMargin(); got != c.want {
			t.Errorf("%s: %d (%s), want %d", c.reason, got, why, c.want)
		}
	}
}

func TestMetricsGoWithTheirObject(t *testing.T) {
	var m memory
	now := metav1.NowMicro()
	r := &cachev1alpha1.Redis{}
	r.Namespace, r.Name, r.UID = "ns", "metrics", "uid"
	r.Status.LastFailover = &cachev1alpha1.RedisFailover{Reason: commonv1.ReasonMasterLost, DetectedAt: now, PromotedAt: ptr.To(now), RoutedAt: ptr.To(now)}
	key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	before := testutil.CollectAndCount(failoversTotal) + testutil.CollectAndCount(stageSeconds) + testutil.CollectAndCount(lagGauge) + testutil.CollectAndCount(marginGauge)

	countFailover(r)
	setMargin(situation{spec: resolve(r), Status: &r.Status})
	m.trackSilence(r, "10.0.0.1", true, clock.RealClock{}.Now())
	m.trackSilence(r, "10.0.0.2", true, clock.RealClock{}.Now())
	m.noteReply(key, r.UID, "10.0.0.1", map[string]int64{"10.0.0.2": 7}, time.Now())
	if got := testutil.ToFloat64(lagGauge.WithLabelValues("ns", "metrics", "10.0.0.2")); got != 7 {
		t.Errorf("lag %v", got)
	}
	m.forget(key)
	forgetMetrics(key)
	m.noteReply(key, r.UID, "10.0.0.1", map[string]int64{"10.0.0.2": 7}, time.Now()) // a watch that ends late
	after := testutil.CollectAndCount(failoversTotal) + testutil.CollectAndCount(stageSeconds) + testutil.CollectAndCount(lagGauge) + testutil.CollectAndCount(marginGauge)
	if after != before {
		t.Errorf("%d series before, %d after", before, after)
	}
}
