package redis

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// isHibernated reports whether nobody takes writes and nobody is to, so that the pods may go. A set that wakes
// begins again from its volumes, as one made anew does.
func isHibernated(r *cachev1alpha1.Redis) bool {
	return r.Spec.Hibernate && r.Status.Replication == nil
}

// runningSize is how many nodes there must be.
func runningSize(r *cachev1alpha1.Redis) int32 {
	if isHibernated(r) {
		return 0
	}
	return size(r)
}

// hibernateIfAsked ends the writes, waits until every follower has them all, and then saves that there is no
// master. What is amiss is mended first: a set does not go to sleep with a lost master, or with servers that do
// not keep data as the spec says by now.
func (s planner) hibernateIfAsked() (step, bool) {
	p := s.Status.Replication.Master
	master := s.recordedMaster(p)
	outdated := s.where(func(m member) bool { return m.outdated })
	switch {
	case !s.Spec.Hibernate || s.ghost != nil || !master.isProcess(p) || master.Loading || len(outdated) > 0 || master.Master && !s.isPersistenceApplied():
		return step{}, false
	case master.Master:
		return step{do: fence, nodes: []string{master.name}, message: "spec.hibernate is true"}, true
	}
	if next, ok := s.stampVolumes(master); ok { // or another volume would look newest
		return next, true
	}
	lagging := s.where(func(m member) bool { return m.inSync(master) && m.Offset < master.Offset })
	if len(lagging) > 0 {
		return step{do: wait, nodes: namesOf(lagging), message: "spec.hibernate is true: the last writes are on their way", requeueAfter: shortRequeue}, true
	}
	return step{do: endMastership, nodes: []string{master.name}, message: "spec.hibernate is true"}, true
}

// setHibernating says how far hibernation is.
func setHibernating(list *[]metav1.Condition, r *cachev1alpha1.Redis, set *appsv1.StatefulSet) {
	say := func(conditionType string, status bool, reason, message string) {
		conditions.Set(list, r.Generation, conditionType, status, reason, message)
	}
	left := set.Status.Replicas
	switch {
	case !r.Spec.Hibernate:
		return
	case !isHibernated(r):
		const why = "spec.hibernate is true: the writes are being ended"
		say(commonv1.ConditionReady, false, commonv1.ReasonHibernating, why)
		say(commonv1.ConditionProgressing, true, commonv1.ReasonHibernating, why)
		return
	case left > 0 || set.Status.ObservedGeneration < set.Generation || set.Generation == 0:
		why := fmt.Sprintf("spec.hibernate is true: %d pods still to go", left)
		say(commonv1.ConditionReady, false, commonv1.ReasonHibernating, why)
		say(commonv1.ConditionProgressing, true, commonv1.ReasonHibernating, why)
	default:
		const why = "spec.hibernate is true: nothing runs, the volumes keep the data"
		say(commonv1.ConditionReady, true, commonv1.ReasonHibernated, why)
		say(commonv1.ConditionProgressing, false, commonv1.ReasonHibernated, why)
	}
	say(commonv1.ConditionAvailable, false, commonv1.ReasonHibernated, "spec.hibernate is true: nobody takes writes")
}
