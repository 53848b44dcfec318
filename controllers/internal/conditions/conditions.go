// Package conditions turns observations into the conditions of a status.
package conditions

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Set sets one condition. Its transition time moves only when its status changes.
func Set(list *[]metav1.Condition, generation int64, conditionType string, status bool, reason, message string) {
	word := metav1.ConditionFalse
	if status {
		word = metav1.ConditionTrue
	}
	meta.SetStatusCondition(list, metav1.Condition{
		Type: conditionType, Status: word, Reason: sanitizeReason(reason), Message: Truncate(message, maxMessage), ObservedGeneration: generation,
	})
}

const (
	// maxReason and maxMessage bound the words of others: the schema of metav1.Condition takes 1024 and 32768
	// characters.
	maxReason  = 1000
	maxMessage = 32768
)

// invalidReasonChars matches what a reason may not contain: a kubelet says OutOfephemeral-storage.
var invalidReasonChars = regexp.MustCompile(`^[^A-Za-z]+|[^A-Za-z0-9_]$|[^A-Za-z0-9_,:]`)

// sanitizeReason makes a reason in the words of others fit the schema: a status that the schema refuses would never be
// written.
func sanitizeReason(reason string) string {
	fit := invalidReasonChars.ReplaceAllString(reason[:min(len(reason), maxReason)], "_")
	if strings.HasPrefix(fit, "_") || fit == "" {
		fit = "Unknown" + fit
	}
	return fit
}

// Truncate cuts a text, which may quote a spec of any length, to at most so many bytes.
func Truncate(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// Finish completes the conditions of a pass before they are saved. before are those that were saved last.
func Finish(list *[]metav1.Condition, before []metav1.Condition) {
	copyDegradedIntoReady(*list)
	setKstatus(list)
	keepTransitionTimes(*list, before)
}

// keepTransitionTimes restores the transition time of every condition whose status is as before: within a pass it may
// have turned there and back, and a failing pass that is tried again must not write the status each time.
func keepTransitionTimes(list, before []metav1.Condition) {
	for i := range list {
		if was := meta.FindStatusCondition(before, list[i].Type); was != nil && was.Status == list[i].Status {
			list[i].LastTransitionTime = was.LastTransitionTime
		}
	}
}

// copyDegradedIntoReady makes Ready say what is degraded, too: a table shows the message of only one condition.
func copyDegradedIntoReady(list []metav1.Condition) {
	ready := meta.FindStatusCondition(list, commonv1.ConditionReady)
	cause := meta.FindStatusCondition(list, commonv1.ConditionDegraded)
	if ready == nil || cause == nil || cause.Status != metav1.ConditionTrue || strings.Contains(ready.Message, cause.Message) {
		return
	}
	ready.Message = Truncate(ready.Message+"; "+cause.Message, maxMessage)
}

// SetPaused says whether spec.paused holds every write back.
func SetPaused(list *[]metav1.Condition, generation int64, paused bool) {
	if paused {
		Set(list, generation, commonv1.ConditionPaused, true, commonv1.ReasonSpecPaused,
			"spec.paused is true: nothing is written until it is false")
		return
	}
	if meta.FindStatusCondition(*list, commonv1.ConditionPaused) != nil {
		Set(list, generation, commonv1.ConditionPaused, false, commonv1.ReasonNotPaused, "spec.paused is false")
	}
}

// SetPausedChanges says which changes spec.paused holds back, if any: then this generation does not run.
func SetPausedChanges(list *[]metav1.Condition, generation int64, what []string) {
	if len(what) == 0 {
		return
	}
	message := "spec.paused holds back: " + strings.Join(what, ", ")
	Set(list, generation, commonv1.ConditionReady, false, commonv1.ReasonSpecPaused, message)
	Set(list, generation, commonv1.ConditionProgressing, false, commonv1.ReasonSpecPaused, message)
}

// unreported are the conditions whose changes are no news.
var unreported = []string{commonv1.ConditionProgressing, commonv1.ConditionReconciling, commonv1.ConditionStalled}

// Transitions returns the conditions whose status differs from before, where an absent one counts as not True, and
// those that are still True for another reason. It leaves Progressing out, which turns with every change: the others
// say how the change ended. It also leaves out those that only repeat another.
func Transitions(before, after []metav1.Condition) []metav1.Condition {
	var transitions []metav1.Condition
	for _, now := range after {
		was := metav1.Condition{Status: metav1.ConditionFalse}
		if found := meta.FindStatusCondition(before, now.Type); found != nil {
			was = *found
		}
		another := now.Status == metav1.ConditionTrue && was.Reason != now.Reason
		if !slices.Contains(unreported, now.Type) && (was.Status != now.Status || another) {
			transitions = append(transitions, now)
		}
	}
	return transitions
}

// BySettingImage is how to move to a default image, for SetUpdateAvailable.
const BySettingImage = "set spec.image"

// expectedReasons are the reasons that follow from what the user wants.
var expectedReasons = []string{commonv1.ReasonScaledToZero, commonv1.ReasonRollingOut, commonv1.ReasonSpecPaused,
	commonv1.ReasonHibernating, commonv1.ReasonHibernated, commonv1.ReasonBackupUnderWay}

// IsWarning reports whether the status of a condition is unwelcome, and not just an ordinary effect of a change that
// the user asked for.
func IsWarning(c metav1.Condition) bool {
	switch c.Type {
	case commonv1.ConditionDegraded, commonv1.ConditionFailed, commonv1.ConditionSplitBrain:
		return c.Status == metav1.ConditionTrue
	case commonv1.ConditionReady, commonv1.ConditionAvailable:
		return c.Status == metav1.ConditionFalse && !slices.Contains(expectedReasons, c.Reason)
	}
	return false
}

// SetUpdateAvailable says whether the operator brings a newer default image than the one that runs, and how to move to it. It
// says nothing about an object that names its image.
func SetUpdateAvailable(list *[]metav1.Condition, generation int64, running, chosen, byDefault, how string) {
	switch {
	case chosen == "" && running != byDefault:
		Set(list, generation, commonv1.ConditionUpdateAvailable, true, commonv1.ReasonNewDefaultImage,
			"the operator's default is now "+byDefault+"; "+how+" to move")
	case meta.FindStatusCondition(*list, commonv1.ConditionUpdateAvailable) != nil:
		Set(list, generation, commonv1.ConditionUpdateAvailable, false, commonv1.ReasonCurrentImage, "the image that runs is the one asked for")
	}
}
