package redis

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

const (
	labelNamespace = "namespace"
	labelObject    = "name"
)

var (
	// failoversTotal counts the changes of the master, planned ones included.
	failoversTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mainstay_redis_failovers_total",
		Help: "Changes of the master, by the reason that status.lastFailover gives.",
	}, []string{labelNamespace, labelObject, "reason"})

	// stageSeconds is the duration of a change's stages: from its detection to the promotion, and on to the route.
	stageSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "mainstay_redis_failover_stage_seconds",
		Help:    "Time that a stage of a change of the master took: promote, then route.",
		Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
	}, []string{labelNamespace, labelObject, "stage"})

	// marginGauge is the quorum's margin: below 0, losing the master would block the promotion.
	marginGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "mainstay_redis_quorum_margin",
		Help: "Replicas that may be lost together with the master without risk to a confirmed write; -1 if none may and the master neither.",
	}, []string{labelNamespace, labelObject})

	// lagGauge is the lag of each replica, as its master sees it.
	lagGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "mainstay_redis_replication_lag_bytes",
		Help: "Bytes of the master's stream that a replica has not acknowledged.",
	}, []string{labelNamespace, labelObject, "address"})
)

func init() { metrics.Registry.MustRegister(failoversTotal, stageSeconds, marginGauge, lagGauge) }

// countFailover counts a change of the master, once its route is written.
func countFailover(r *cachev1alpha1.Redis) {
	last := r.Status.LastFailover
	failoversTotal.WithLabelValues(r.Namespace, r.Name, last.Reason).Inc()
	if last.PromotedAt == nil {
		return
	}
	stageSeconds.WithLabelValues(r.Namespace, r.Name, "promote").Observe(last.PromotedAt.Sub(last.DetectedAt.Time).Seconds())
	stageSeconds.WithLabelValues(r.Namespace, r.Name, "route").Observe(last.RoutedAt.Sub(last.PromotedAt.Time).Seconds())
}

// setMargin sets the margin to what the status says of it.
func setMargin(s topology.Situation) {
	left, _ := s.QuorumMargin()
	marginGauge.WithLabelValues(s.Namespace, s.Name).Set(float64(left))
}

// setLag sets the lag of the replicas that a master knows of, and drops all others of the object.
func setLag(key types.NamespacedName, behind map[string]int64) {
	lagGauge.DeletePartialMatch(prometheus.Labels{labelNamespace: key.Namespace, labelObject: key.Name})
	for address, bytes := range behind {
		lagGauge.WithLabelValues(key.Namespace, key.Name, address).Set(float64(bytes))
	}
}

// forgetMetrics drops the metrics of an object that is gone.
func forgetMetrics(key types.NamespacedName) {
	labels := prometheus.Labels{labelNamespace: key.Namespace, labelObject: key.Name}
	failoversTotal.DeletePartialMatch(labels)
	stageSeconds.DeletePartialMatch(labels)
	marginGauge.DeletePartialMatch(labels)
	lagGauge.DeletePartialMatch(labels)
}
