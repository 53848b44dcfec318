package conditions

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// setKstatus derives from the other conditions the two by which kstatus, and so Flux, judges an object. Stalled is True if nothing
// changes until somebody acts: kstatus reads it as failed. Reconciling is True while an object without Ready is under way: kstatus reads
// it as in progress, and reads an object without any of the three as done. Both are absent otherwise, as kstatus asks.
func setKstatus(list *[]metav1.Condition) {
	stalled, reconciling := stalledBy(*list), reconcilingBy(*list)
	if stalled != nil {
		reconciling = nil
	}
	mirror(list, commonv1.ConditionStalled, stalled)
	mirror(list, commonv1.ConditionReconciling, reconciling)
}

// stalledBy returns the condition that says why nothing changes until somebody acts; nil if something changes, or need not. What is
// complete needs no change, whatever fails afterwards, such as its cleanup.
func stalledBy(list []metav1.Condition) *metav1.Condition {
	if findTrue(list, commonv1.ConditionComplete) != nil {
		return nil
	}
	if failed := findTrue(list, commonv1.ConditionFailed); failed != nil {
		return failed
	}
	if findTrue(list, commonv1.ConditionReady) != nil || findTrue(list, commonv1.ConditionProgressing) != nil {
		return nil
	}
	return findTrue(list, commonv1.ConditionDegraded)
}

// reconcilingBy returns the condition that says what an object without Ready does; nil if it does nothing.
func reconcilingBy(list []metav1.Condition) *metav1.Condition {
	if meta.FindStatusCondition(list, commonv1.ConditionReady) != nil || findTrue(list, commonv1.ConditionComplete) != nil {
		return nil
	}
	return findTrue(list, commonv1.ConditionProgressing)
}

// findTrue returns a copy of the condition if it is True, and otherwise nil.
func findTrue(list []metav1.Condition, conditionType string) *metav1.Condition {
	if c := meta.FindStatusCondition(list, conditionType); c != nil && c.Status == metav1.ConditionTrue {
		return c.DeepCopy()
	}
	return nil
}

// mirror sets a condition to True with the words of another one; if that is nil, it removes the condition. It moves the condition to
// the end: a pass may have removed and added others, and the order alone must not cause a write.
func mirror(list *[]metav1.Condition, conditionType string, source *metav1.Condition) {
	meta.RemoveStatusCondition(list, conditionType)
	if source == nil {
		return
	}
	Set(list, source.ObservedGeneration, conditionType, true, source.Reason, source.Message)
}
