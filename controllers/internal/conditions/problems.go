package conditions

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Problem is what is wrong with an object, in words for a condition.
type Problem struct {
	Reason  string
	Message string
	// Transient is true when time alone is likely to fix it; otherwise a human must.
	Transient bool
}

// SetDegraded reports in Degraded, and only there, the first of the problems that need a human. A kind calls it once in a pass,
// with all of its problems, the most urgent first. A nil problem is absent.
func SetDegraded(list *[]metav1.Condition, generation int64, byUrgency ...*Problem) {
	p := First(byUrgency...)
	if p == nil {
		Set(list, generation, commonv1.ConditionDegraded, false, commonv1.ReasonAsExpected, "nothing needs a human")
		return
	}
	Set(list, generation, commonv1.ConditionDegraded, true, p.Reason, p.Message)
}

// First returns the first problem that is present; nil if none is.
func First(problems ...*Problem) *Problem {
	i := slices.IndexFunc(problems, func(p *Problem) bool { return p != nil })
	if i < 0 {
		return nil
	}
	return problems[i]
}

// Halt reports in Ready and Progressing that a problem keeps this generation from running until a human acts. Without a problem
// it changes nothing.
func Halt(list *[]metav1.Condition, generation int64, p *Problem) {
	if p != nil {
		Set(list, generation, commonv1.ConditionReady, false, p.Reason, p.Message)
		Set(list, generation, commonv1.ConditionProgressing, false, p.Reason, p.Message)
	}
}

// SetFailedPass reports why a pass failed. That is more urgent than every problem that the kind lists: the pass may have found
// them by halves. A generation that was Ready before a transient failure keeps what was computed; one that was not is not made
// Ready by a pass that failed.
func SetFailedPass(list *[]metav1.Condition, before []metav1.Condition, generation int64, p *Problem) {
	if p == nil {
		return
	}
	Set(list, generation, commonv1.ConditionProgressing, p.Transient, p.Reason, p.Message)
	if !p.Transient {
		SetDegraded(list, generation, p)
	}
	if findTrue(*list, commonv1.ConditionComplete) != nil {
		return // only what comes afterwards failed, such as the cleanup
	}
	was := meta.FindStatusCondition(before, commonv1.ConditionReady)
	if !p.Transient || was == nil || was.Status != metav1.ConditionTrue || was.ObservedGeneration < generation {
		Set(list, generation, commonv1.ConditionReady, false, p.Reason, p.Message)
	}
}
