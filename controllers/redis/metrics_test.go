package redis

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestMetricsGoWithTheirObject(t *testing.T) {
	now := metav1.NowMicro()
	r := &cachev1alpha1.Redis{}
	r.Namespace, r.Name, r.UID = "ns", "metrics", "uid"
	r.Status.LastFailover = &cachev1alpha1.RedisFailover{Reason: commonv1.ReasonMasterLost, DetectedAt: now, PromotedAt: ptr.To(now),
		RoutedAt: ptr.To(now)}
	key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	before := countSeries()

	countFailover(r)
	setMargin(topology.Situation{Spec: config.Resolve(r), Status: &r.Status})
	setLag(key, map[string]int64{"10.0.0.2": 7})
	if got := testutil.ToFloat64(lagGauge.WithLabelValues("ns", "metrics", "10.0.0.2")); got != 7 {
		t.Errorf("lag %v", got)
	}
	forgetMetrics(key)
	after := countSeries()
	if after != before {
		t.Errorf("%d series before, %d after", before, after)
	}
}

// countSeries returns how many series all objects have together.
func countSeries() (count int) {
	for _, metric := range []prometheus.Collector{failoversTotal, stageSeconds, lagGauge, marginGauge} {
		count += testutil.CollectAndCount(metric)
	}
	return count
}
