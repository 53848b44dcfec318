package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// setProgress says what is under way. What was asked for is not everywhere before that has ended, also where each pod for itself
// is as it should be: between two minor versions, before a learner is a voter, or while etcd is open that is to require a login.
func setProgress(list *[]metav1.Condition, in Inputs) {
	next, isOpen := in.Next, in.Situation.RequiresLogin && !in.Situation.Login().Required
	if !next.IsRollout() && (!isOpen || next.Do == membership.Block) {
		return
	}
	reason, message := commonv1.ReasonRollingOut, next.Phrase()
	if ready := meta.FindStatusCondition(*list, commonv1.ConditionReady); ready.Status != metav1.ConditionTrue {
		reason, message = ready.Reason, ready.Message+"; "+message
	}
	conditions.Set(list, in.Cluster.Generation, commonv1.ConditionReady, false, reason, message)
	conditions.Set(list, in.Cluster.Generation, commonv1.ConditionProgressing, true, reason, message)
}
