package easyservice

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// problems are all that Degraded can report, the most urgent first.
var problems = []struct {
	name, reason string
	arrange      func(*appsv1.Deployment, *rolloutRequest)
}{
	{"a release was rolled back", commonv1.ReasonRolledBack, func(_ *appsv1.Deployment, r *rolloutRequest) { r.appliedHash = "1" }},
	{"a pod fails", commonv1.ReasonPodFailing, func(d *appsv1.Deployment, _ *rolloutRequest) {
		withCondition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota")(d)
	}},
	{"the rollout is overdue", commonv1.ReasonProgressDeadlineExceeded, func(d *appsv1.Deployment, _ *rolloutRequest) {
		withCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonDeadlineExceeded, "")(d)
	}},
}

// Of two problems, Degraded reports the more urgent one.
func TestTheMoreUrgentProblemIsReported(t *testing.T) {
	for i, first := range problems {
		for _, second := range problems[i:] {
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
				e, d := newEasyService("a", appv1.EasyServiceSpec{Size: ptr.To[int32](4)}), deployed(1)
				r := rolloutRequest{specHash: "2", appliedHash: "2"}
				e.Status.LastRollout = &appv1.Rollout{Template: "2", StartTime: testTime, Result: appv1.RolloutRolledBack}
				second.arrange(d, &r)
				first.arrange(d, &r)
				got := status(e, converge.Observed{"Deployment/a": d}, world{now: secondsLater(2)}, r)
				c := meta.FindStatusCondition(got.Conditions, commonv1.ConditionDegraded)
				if c.Status != metav1.ConditionTrue || c.Reason != first.reason {
					t.Errorf("%s: %s %s", c.Status, c.Reason, c.Message)
				}
			})
		}
	}
}
