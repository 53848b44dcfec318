package backup

import (
	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// A condition changes only when the state does. Events report every backup, also the tenth failure in a row.

// action is what events say was done.
const action = "Backup"

// maxNote bounds the note of an event: the API server drops a longer one.
const maxNote = 1024

// reportRun reports that a run is retried or has ended, once the status has that.
func (p *pass) reportRun() {
	status := p.b.GetBackupStatus()
	run := status.Run
	p.Kind.countRun(run)
	switch run.Phase {
	case commonv1.BackupSucceeded:
		reason, what := commonv1.ReasonBackupWritten, "in the store"
		if status.Last.Verified {
			reason, what = commonv1.ReasonBackupVerified, "in the store, and a server was started from it"
		}
		p.emit(corev1.EventTypeNormal, reason, "backup "+run.Item+" is "+what+comparisonNote(status))
	case commonv1.BackupRetrying:
		p.emit(corev1.EventTypeWarning, commonv1.ReasonRetrying, "backup "+run.Item+" failed, and another attempt follows: "+run.Message)
	case commonv1.BackupFailed:
		p.emit(corev1.EventTypeWarning, commonv1.ReasonBackupFailed, "backup "+run.Item+" failed, and no attempt follows: "+run.Message)
	case commonv1.BackupRunning:
	}
}

// reportMissed reports what was missed in this pass, and how old the latest backups are, once the status has that.
func (p *pass) reportMissed(missedBefore int64) {
	status := p.b.GetBackupStatus()
	if n := status.Missed - missedBefore; n > 0 {
		missedRuns.WithLabelValues(p.Kind.gvk.Kind).Add(float64(n))
		p.emit(corev1.EventTypeWarning, commonv1.ReasonBackupMissed, status.LastFailure.Message)
	}
	p.Kind.exportLastSuccess(p.b)
}

func (p *pass) emit(eventType, reason, note string) {
	p.Events.Eventf(p.b, nil, eventType, reason, action, "%s", conditions.Truncate(note, maxNote))
}
