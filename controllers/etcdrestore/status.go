package etcdrestore

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// outcome is what is known of a restore.
type outcome struct {
	complete, failed bool
	reason, message  string
	item             string
	completed        *metav1.Time
	recheckAfter     time.Duration
}

// judge derives from the status of the EtcdCluster how far a restore is. What has started is past its deadline at no time.
func judge(r *databasev1alpha1.EtcdRestore, cluster *databasev1alpha1.EtcdCluster, now time.Time) outcome {
	if cluster != nil {
		switch record, last := cluster.Status.Membership, cluster.Status.LastRestore; {
		case record != nil && record.Restore != nil && record.Restore.RestoreUID == r.UID:
			return outcome{reason: commonv1.ReasonRestoring, item: record.Restore.Item,
				message: fmt.Sprintf("EtcdCluster %q is being restored: its conditions show the progress", cluster.Name)}
		case last != nil && last.RestoreUID == r.UID:
			return outcome{complete: true, reason: commonv1.ReasonRestored, item: last.Item, completed: &last.Time,
				message: fmt.Sprintf("the first member serves the data of the backup (revision %d); the other members join it", last.Revision)}
		case slices.Contains(cluster.Status.BegunRestoreUIDs, r.UID):
			return outcome{failed: true, reason: commonv1.ReasonSuperseded, item: r.Status.Item,
				message: "a later EtcdRestore replaced this one before any member was seen to run with its backup"}
		}
	}
	if r.Status.Item != "" {
		return outcome{failed: true, reason: commonv1.ReasonRecordLost, item: r.Status.Item, message: fmt.Sprintf(
			"the EtcdCluster %q on which it had started is gone, or its status was put back: create another EtcdRestore if the backup is still to "+
				"be restored", r.Spec.ClusterName)}
	}
	left := r.FailsAfter().Sub(now)
	waits := waitsFor(r, cluster)
	if left <= 0 {
		return outcome{failed: true, reason: commonv1.ReasonStartDeadlineExceeded, message: fmt.Sprintf(
			"not started within startingDeadline (%s), so the cluster was not changed: %s. Fix that, then create another EtcdRestore",
			r.StartingDeadline(), waits)}
	}
	return outcome{reason: commonv1.ReasonWaiting, message: waits, recheckAfter: left}
}

// waitsFor says why a restore has not started.
func waitsFor(r *databasev1alpha1.EtcdRestore, cluster *databasev1alpha1.EtcdCluster) string {
	switch {
	case cluster == nil:
		return fmt.Sprintf("clusterName: EtcdCluster %q does not exist in this namespace", r.Spec.ClusterName)
	case cluster.Spec.Paused:
		return fmt.Sprintf("EtcdCluster %q is paused", cluster.Name)
	case cluster.Status.NextRestore != nil && cluster.Status.NextRestore.RestoreUID == r.UID:
		return cluster.Status.NextRestore.Message
	case cluster.Status.NextRestore != nil:
		return fmt.Sprintf("waiting for an earlier EtcdRestore of EtcdCluster %q to start or end", cluster.Name)
	}
	return fmt.Sprintf("the operator has not processed it yet; if this stays, see the conditions of EtcdCluster %q", cluster.Name)
}

func setStatus(r *databasev1alpha1.EtcdRestore, o outcome) {
	list, generation := &r.Status.Conditions, r.Generation
	for _, failedPass := range []string{commonv1.ConditionReady, commonv1.ConditionDegraded} {
		meta.RemoveStatusCondition(list, failedPass)
	}
	r.Status.Item, r.Status.CompletionTime = o.item, o.completed
	conditions.Set(list, generation, commonv1.ConditionProgressing, !o.complete && !o.failed, o.reason, o.message)
	if o.complete {
		conditions.Set(list, generation, commonv1.ConditionComplete, true, o.reason, o.message)
	}
	if o.failed {
		conditions.Set(list, generation, commonv1.ConditionFailed, true, o.reason, o.message)
	}
}
