package backup

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// A process counts what it has written down; one that is killed right after the write does not count it.
var (
	finishedRuns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mainstay_backup_runs_total",
		Help: "Backups that were due and have ended, by their phase: Succeeded or Failed.",
	}, []string{"kind", "phase"})

	failedAttempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mainstay_backup_failed_attempts_total",
		Help: "Attempts at a backup that have failed.",
	}, []string{"kind"})

	missedRuns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mainstay_backup_missed_total",
		Help: "Backups that were due and never started.",
	}, []string{"kind"})

	runDurations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "mainstay_backup_duration_seconds",
		Help:    "Time from when a backup was due to when it was in the store, and verified if that is asked for.",
		Buckets: []float64{5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600},
	}, []string{"kind"})

	lastSuccess = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "mainstay_backup_last_success_timestamp_seconds",
		Help: "When the latest backup of an object that is in the store was started; verified says whether a server was started from it.",
	}, []string{"kind", "namespace", "name", "verified"})
)

func init() {
	metrics.Registry.MustRegister(finishedRuns, failedAttempts, missedRuns, runDurations, lastSuccess)
}

// countAttempt counts an attempt that has ended. Call it once the outcome is written down.
func (k Kind) countAttempt(run *commonv1.BackupRun) {
	if run.Phase != commonv1.BackupSucceeded {
		failedAttempts.WithLabelValues(k.gvk.Kind).Inc()
	}
}

// countRun counts a run if it has ended, with an attempt or without another one. Call it once that is written down.
func (k Kind) countRun(run *commonv1.BackupRun) {
	if run.Phase == commonv1.BackupRetrying {
		return
	}
	finishedRuns.WithLabelValues(k.gvk.Kind, string(run.Phase)).Inc()
	if run.Phase == commonv1.BackupSucceeded && run.FinishTime != nil {
		runDurations.WithLabelValues(k.gvk.Kind).Observe(max(0, run.FinishTime.Sub(run.ScheduledTime.Time).Seconds()))
	}
}

// exportLastSuccess exports how old the latest backups of an object are.
func (k Kind) exportLastSuccess(b Object) {
	for verified, item := range map[string]*commonv1.BackupItem{"false": b.GetBackupStatus().Last, "true": b.GetBackupStatus().LastVerified} {
		if item != nil {
			lastSuccess.WithLabelValues(k.gvk.Kind, b.GetNamespace(), b.GetName(), verified).Set(float64(item.Time.Unix()))
		}
	}
}

// forget drops the metrics of a deleted object.
func (k Kind) forget(key types.NamespacedName) {
	lastSuccess.DeletePartialMatch(prometheus.Labels{"kind": k.gvk.Kind, "namespace": key.Namespace, "name": key.Name})
}
