package etcdrestore

import (
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/gitopstest"
)

func TestWhatGitOpsToolsSeeOfAnEtcdRestore(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome outcome
		want    gitopstest.Verdict
	}{
		{"it waits", outcome{reason: commonv1.ReasonWaiting, message: "for the backup"}, gitopstest.InProgress},
		{"it has started", outcome{reason: commonv1.ReasonRestoring, message: "it runs"}, gitopstest.InProgress},
		{"it is complete", outcome{complete: true, reason: commonv1.ReasonRestored, message: "done"}, gitopstest.Current},
		{"it failed", outcome{failed: true, reason: commonv1.ReasonSuperseded, message: "by another"}, gitopstest.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &databasev1alpha1.EtcdRestore{}
			// A pass before failed: what it has left must not count.
			conditions.SetFailedPass(r.GetConditions(), nil, 1, &conditions.Problem{Reason: commonv1.ReasonRefusedByServer, Message: "no"})
			gitopstest.Check(t, r, gitopstest.Failed)
			setStatus(r, c.outcome)
			gitopstest.Check(t, r, c.want)
		})
	}
}
