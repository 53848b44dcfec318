package activity

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// Runs come and go without end, so no series bears the name of one. A process counts
// what it has written down; one that is killed right after the write does not count it.
var (
	// finishedRuns counts the Activities that have ended.
	finishedRuns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mainstay_activities_finished_total",
		Help: "Activities that have ended, by their prosta.",
	}, []string{"prosta"})

	// finishedAttempts counts the attempts that have ended.
	finishedAttempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mainstay_activity_attempts_total",
		Help: "Attempts that have ended, by their prosta.",
	}, []string{"prosta"})

	// runDurations measures the runs that have started and ended, retries included.
	runDurations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "mainstay_activity_duration_seconds",
		Help:    "Time from the first start of a command to the end of its last attempt.",
		Buckets: []float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600},
	}, []string{"prosta"})
)

func init() { metrics.Registry.MustRegister(finishedRuns, finishedAttempts, runDurations) }

// countAttempt counts an attempt. Call it once the attempt's end is written down.
func countAttempt(attempt *egov1.Attempt) {
	finishedAttempts.WithLabelValues(string(attempt.Prosta)).Inc()
}

// countRun counts a run. Call it once the run's end is written down.
func countRun(a *egov1.Activity) {
	prosta := string(a.Status.Prosta)
	finishedRuns.WithLabelValues(prosta).Inc()
	if a.Status.Duration != nil {
		runDurations.WithLabelValues(prosta).Observe(a.Status.Duration.Seconds())
	}
}
