package upgradeable

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// patience with one object: what takes longer does not get better by waiting, and
	// the upgrade may be what mends it.
	patience = 10 * time.Minute
	// named is how many objects a message names.
	named = 5
)

// Reasons of the condition Upgradeable.
const (
	// ReasonNothingUnderWay : an upgrade would cut nothing short.
	ReasonNothingUnderWay = "NothingUnderWay"
	// ReasonChangeUnderWay : the message names the objects that are waited for.
	ReasonChangeUnderWay = "ChangeUnderWay"
	// ReasonHeldLongEnough : the message names the objects that are no longer waited for.
	ReasonHeldLongEnough = "HeldLongEnough"
)

// stretch is the time that an object has been in steps without a pause, and the
// first of them: a message that follows each step would be one write for each.
type stretch struct {
	began time.Time
	step  string
}

// stretches by object, as "Redis shop/cart".
type stretches map[string]stretch

// after has the steps that objects are in now: who was in one before goes on.
func (s stretches) after(steps map[string]string, now time.Time) stretches {
	next := stretches{}
	for object, step := range steps {
		next[object] = stretch{began: now, step: step}
		if before, ok := s[object]; ok {
			next[object] = before
		}
	}
	return next
}

// split tells whose stretch is within the patience and whose is beyond, as messages
// name them, in order. due is how long until the next is beyond; 0 for never.
func (s stretches) split(now time.Time) (holding, beyond []string, due time.Duration) {
	for _, object := range slices.Sorted(maps.Keys(s)) {
		text := fmt.Sprintf("%s (%s)", object, s[object].step)
		left := s[object].began.Add(patience).Sub(now)
		switch {
		case left <= 0:
			beyond = append(beyond, text)
		case due == 0 || left < due:
			due = left
			fallthrough
		default:
			holding = append(holding, text)
		}
	}
	return holding, beyond, due
}

// condition to tell OLM.
func condition(holding, beyond []string, now time.Time) metav1.Condition {
	c := metav1.Condition{Type: operatorsv2.Upgradeable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}
	switch {
	case len(holding) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, ReasonChangeUnderWay
		c.Message = fmt.Sprintf("waiting for %s; for each at most %s", enumerate(holding), patience)
	case len(beyond) > 0:
		c.Reason = ReasonHeldLongEnough
		c.Message = fmt.Sprintf("after %s no longer waiting for %s", patience, enumerate(beyond))
	default:
		c.Reason, c.Message = ReasonNothingUnderWay, "an upgrade cuts nothing short"
	}
	return c
}

// enumerate names the first few and counts the rest.
func enumerate(list []string) string {
	if more := len(list) - named; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:named], ", "), more)
	}
	return strings.Join(list, ", ")
}
