package etcdrestore

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*databasev1alpha1.EtcdCluster)
		after   time.Duration // since its creation
		reason  string
		message string
	}{
		{"it waits for its backup", func(e *databasev1alpha1.EtcdCluster) {
			e.Status.NextRestore = &databasev1alpha1.EtcdNextRestore{RestoreUID: "r", Message: "waiting for the backup to be fetched"}
		}, 0, commonv1.ReasonWaiting, "waiting for the backup"},
		{"it waits for another", func(e *databasev1alpha1.EtcdCluster) {
			e.Status.NextRestore = &databasev1alpha1.EtcdNextRestore{RestoreUID: "other"}
		}, 0, commonv1.ReasonWaiting, "waiting for an earlier EtcdRestore"},
		{"it waits for a human", func(e *databasev1alpha1.EtcdCluster) { e.Spec.Paused = true }, 0, commonv1.ReasonWaiting, "is paused"},
		{"it was not looked at", func(*databasev1alpha1.EtcdCluster) {}, 0, commonv1.ReasonWaiting, "has not processed it yet"},
		{"it waits until its deadline", func(*databasev1alpha1.EtcdCluster) {}, time.Hour + 9*time.Second, commonv1.ReasonWaiting, ""},
		{"it fails at its deadline", func(*databasev1alpha1.EtcdCluster) {}, time.Hour + 10*time.Second, commonv1.ReasonStartDeadlineExceeded,
			"not started within startingDeadline (1h0m0s), so the cluster was not changed"},
		{"what has started has no deadline", func(e *databasev1alpha1.EtcdCluster) {
			e.Status.Membership = &databasev1alpha1.EtcdMembership{Restore: &databasev1alpha1.EtcdMembershipRestore{RestoreUID: "r"}}
		}, 48 * time.Hour, commonv1.ReasonRestoring, "is being restored"},
		{"it is complete once a member runs", func(e *databasev1alpha1.EtcdCluster) {
			e.Status.BegunRestoreUIDs = []types.UID{"r"}
			e.Status.LastRestore = &databasev1alpha1.EtcdLastRestore{RestoreUID: "r",
				EtcdRestoredBackup: databasev1alpha1.EtcdRestoredBackup{Revision: 7}}
		}, 48 * time.Hour, commonv1.ReasonRestored, "(revision 7)"},
		{"another took its place", func(e *databasev1alpha1.EtcdCluster) {
			e.Status.BegunRestoreUIDs = []types.UID{"r", "other"}
		}, time.Minute, commonv1.ReasonSuperseded, "a later EtcdRestore replaced this one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, started := builders.EtcdCluster("a").Build(), time.Unix(1000, 0)
			c.arrange(e)
			r := &databasev1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{UID: "r", CreationTimestamp: metav1.NewTime(started)}}
			r.Spec.ClusterName = "a"
			got := judge(r, e, started.Add(c.after))
			if got.reason != c.reason || !strings.Contains(got.message, c.message) {
				t.Errorf("got %+v", got)
			}
			if ends := got.complete || got.failed; ends == (got.recheckAfter > 0) && c.reason != commonv1.ReasonRestoring {
				t.Errorf("it is looked at again after %s", got.recheckAfter)
			}
			// of a pass before
			conditions.SetFailedPass(r.GetConditions(), nil, 1, &conditions.Problem{Reason: commonv1.ReasonRefusedByServer})
			if setStatus(r, got); r.HasEnded() != (got.complete || got.failed) {
				t.Errorf("got %+v", r.Status)
			}
			for _, failedPass := range []string{commonv1.ConditionReady, commonv1.ConditionDegraded} {
				if meta.FindStatusCondition(r.Status.Conditions, failedPass) != nil {
					t.Errorf("%s is still there", failedPass)
				}
			}
		})
	}
	started := &databasev1alpha1.EtcdRestore{Status: databasev1alpha1.EtcdRestoreStatus{Item: "item"}}
	for name, e := range map[string]*databasev1alpha1.EtcdCluster{"its cluster is gone": nil,
		"another has the name": builders.EtcdCluster("a").Build()} {
		if got := judge(started, e, started.CreationTimestamp.Time); !got.failed || got.reason != commonv1.ReasonRecordLost ||
			got.item != "item" {
			t.Errorf("it has started, and %s: got %+v", name, got)
		}
	}
	r := &databasev1alpha1.EtcdRestore{}
	r.Spec.ClusterName = "none"
	if got := judge(r, nil, r.CreationTimestamp.Time); !strings.Contains(got.message, `clusterName: EtcdCluster "none" does not exist`) {
		t.Errorf("got %+v", got)
	}
}
