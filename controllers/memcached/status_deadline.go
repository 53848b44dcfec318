package memcached

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// progressDeadline is how long an object that is not Ready may make no progress. A StatefulSet has no such deadline,
// and says only in its events why a pod is not made; a Deployment's default is the same.
const progressDeadline = 10 * time.Minute

// progressingSince is when the change that is under way started. It does not go by Ready: an object that spec.paused held
// back was not Ready long before, and its change starts when it is let go.
func progressingSince(m *cachev1alpha1.Memcached, now time.Time) time.Time {
	progressing := meta.FindStatusCondition(m.Status.Conditions, commonv1.ConditionProgressing)
	degraded := meta.FindStatusCondition(m.Status.Conditions, commonv1.ConditionDegraded)
	hasVerdict := func(c *metav1.Condition, reasons ...string) bool { // a verdict on this generation
		return c != nil && c.ObservedGeneration == m.Generation && slices.Contains(reasons, c.Reason)
	}
	switch {
	case progressing == nil:
	case hasVerdict(degraded, commonv1.ReasonProgressDeadlineExceeded): // a pass that failed since takes nothing back
		return degraded.LastTransitionTime.Add(-progressDeadline)
	case progressing.Status == metav1.ConditionTrue:
		return progressing.LastTransitionTime.Time
	case hasVerdict(progressing, commonv1.ReasonRollingOut, commonv1.ReasonReplicas): // and Degraded says what fails
		return progressing.LastTransitionTime.Add(-progressDeadline)
	}
	return now
}

// deadlineAt is when there has been no progress for too long. Progress is a pod that is created, is deleted, or becomes
// ready; the last counts from minReadySeconds later, since the rollout pauses for that long.
func deadlineAt(m *cachev1alpha1.Memcached, w world) time.Time {
	moved := progressingSince(m, w.now)
	for _, pod := range slices.Concat(w.pods, w.proxies) {
		at := pod.CreationTimestamp.Time
		if serves, ready := conditions.ReadySince(&pod); ready {
			at = serves.Add(time.Duration(minReadySeconds(m)) * time.Second)
		}
		if goes := pod.DeletionTimestamp; goes != nil {
			at = goes.Time
		}
		if at.After(moved) {
			moved = at
		}
	}
	return moved.Add(progressDeadline)
}

// isStuck reports whether the deadline has passed, once the StatefulSet's controller has started.
func isStuck(m *cachev1alpha1.Memcached, w world) bool {
	started := w.set.Generation > 0 && w.set.Status.ObservedGeneration == w.set.Generation
	return started && !deadlineAt(m, w).After(w.now)
}

// untilDeadline is how soon to look again, because the deadline passes then; 0 is never.
func untilDeadline(m *cachev1alpha1.Memcached, w world) time.Duration {
	if w.set.Generation == 0 || !meta.IsStatusConditionTrue(m.Status.Conditions, commonv1.ConditionProgressing) {
		return 0
	}
	return max(deadlineAt(m, w).Sub(w.now), 0)
}
