package upgradeable

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	// maxHold is how long one object may hold the upgrade: what takes longer does not get better by waiting, and
	// the upgrade may be what fixes it.
	maxHold = 10 * time.Minute
	// maxNamed is how many objects a message names.
	maxNamed = 5
)

// hold says since when changes of an object have been under way without a pause, and names the first: a message that
// followed each change would cost one write for each.
type hold struct {
	since  time.Time
	change string
}

// holds are by object, such as "Redis shop/cart".
type holds map[string]hold

// update returns the holds for the changes that are under way now. An object that had one before keeps it.
func (h holds) update(changes map[string]string, now time.Time) holds {
	next := holds{}
	for object, change := range changes {
		next[object] = hold{since: now, change: change}
		if before, ok := h[object]; ok {
			next[object] = before
		}
	}
	return next
}

// split separates the objects that have held for less than maxHold from those that have held longer, as messages name
// them, in order. nextExpiry is how long until the next one reaches maxHold; 0 means never.
func (h holds) split(now time.Time) (holding, expired []string, nextExpiry time.Duration) {
	for _, object := range slices.Sorted(maps.Keys(h)) {
		text := fmt.Sprintf("%s (%s)", object, h[object].change)
		left := h[object].since.Add(maxHold).Sub(now)
		switch {
		case left <= 0:
			expired = append(expired, text)
		case nextExpiry == 0 || left < nextExpiry:
			nextExpiry = left
			fallthrough
		default:
			holding = append(holding, text)
		}
	}
	return holding, expired, nextExpiry
}

// newCondition returns the condition to report to OLM. mayHold says that all objects together have not yet held for too long.
func newCondition(holding, expired []string, mayHold bool, now time.Time) metav1.Condition {
	c := metav1.Condition{Type: operatorsv2.Upgradeable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}
	switch {
	case len(holding) > 0 && !mayHold:
		c.Reason = commonv1.ReasonHeldLongEnough
		c.Message = fmt.Sprintf("changes have followed each other for %s: the upgrade no longer waits for %s", maxStretch, enumerate(holding))
	case len(holding) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, commonv1.ReasonChangeUnderWay
		c.Message = fmt.Sprintf("the upgrade waits for %s: at most %s for each, and %s for all together", enumerate(holding), maxHold, maxStretch)
	case len(expired) > 0:
		c.Reason = commonv1.ReasonHeldLongEnough
		c.Message = fmt.Sprintf("after %s no longer waiting for %s", maxHold, enumerate(expired))
	default:
		c.Reason, c.Message = commonv1.ReasonNothingUnderWay, "an upgrade cuts nothing short"
	}
	return c
}

// enumerate names the first few and counts the rest.
func enumerate(list []string) string {
	if more := len(list) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxNamed], ", "), more)
	}
	return strings.Join(list, ", ")
}
