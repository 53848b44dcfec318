package activity

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// updateStatus computes the status from the attempts and from the pod of the current
// one, which is nil when it is not known.
func updateStatus(a *egov1.Activity, pod *corev1.Pod) {
	if a.Status.Attempts == nil {
		a.Status.Attempts = []egov1.Attempt{}
	}
	attempt := currentAttempt(a)
	if attempt != nil && (pod == nil || pod.UID != attempt.PodUID) {
		pod = nil
	}
	if attempt != nil && !attempt.Prosta.Finished() {
		observeAttempt(a, attempt, pod)
	}
	setRunResult(a)
	setConditions(a)
	if pod == nil {
		return
	}
	if a.Spec.Host != "" {
		setHostResolved(a, pod)
	}
	setNodeReachable(a, pod)
}

// observeAttempt writes down how far an attempt is. An older view of the pod takes nothing
// back: what has started does not start again.
func observeAttempt(a *egov1.Activity, attempt *egov1.Attempt, pod *corev1.Pod) {
	attempt.Reason, attempt.Message = "", ""
	if pod != nil {
		attempt.NodeName = cmp.Or(pod.Spec.NodeName, attempt.NodeName)
		if running := commandStatus(pod).State.Running; running != nil && !running.StartedAt.IsZero() && attempt.StartTime == nil {
			attempt.StartTime = running.StartedAt.DeepCopy()
		}
	}
	if pod != nil && attempt.StartTime == nil { // what keeps others from starting is not the command's
		attempt.Message = blockedReason(pod)
	}
	switch {
	case attempt.StartTime != nil:
		attempt.Prosta = egov1.Running
	case attempt.NodeName != "":
		attempt.Prosta = egov1.Starting
	case isSuspended(a) && (attempt.PodUID == "" || pod != nil && once.IsGated(pod)):
		attempt.Prosta = egov1.Suspended
	default:
		attempt.Prosta = egov1.Pending
	}
	switch {
	case attempt.Message != "":
		attempt.Reason = commonv1.ReasonPodFailing
	case attempt.Prosta == egov1.Starting && pod != nil:
		attempt.Message = withoutPodName(pod, conditions.FirstStartupWait)
	}
}

// withoutPodName returns the message on a pod without its name, which needs no mention.
func withoutPodName(pod *corev1.Pod, words func([]corev1.Pod) string) string {
	return strings.TrimPrefix(words([]corev1.Pod{*pod}), "pod "+pod.Name+": ")
}

// blockedReason says what keeps the pod from starting, and what to do about it where the user
// named nothing that could be at fault.
func blockedReason(pod *corev1.Pod) string {
	why := withoutPodName(pod, conditions.FirstFailure)
	unpulled := strings.Contains(why, "cannot be pulled") || strings.Contains(why, "ErrImageNeverPull")
	if unpulled && strings.HasPrefix(why, "container "+guardContainer+": ") {
		why += "; it brings the guard that starts the command from the operator's own image: imagePullSecrets and imagePullPolicy must suit " +
			"that, too"
	}
	return why
}

// prosta returns the state of the whole run. An end, once written down, is the end.
func prosta(a *egov1.Activity) egov1.ProcessState {
	attempt := currentAttempt(a)
	switch {
	case a.Status.Prosta.Finished():
		return a.Status.Prosta
	case attempt == nil || attempt.Prosta.Finished() && shouldRetry(a, attempt):
		return prostaBetweenAttempts(a)
	case attempt.Number > 1 && !attempt.Prosta.Finished() && attempt.Prosta != egov1.Running && attempt.Prosta != egov1.Suspended:
		return egov1.Retrying
	}
	return attempt.Prosta
}

// prostaBetweenAttempts returns the state of a run whose next attempt has not started.
func prostaBetweenAttempts(a *egov1.Activity) egov1.ProcessState {
	switch {
	case isSuspended(a):
		return egov1.Suspended
	case currentAttempt(a) != nil:
		return egov1.Retrying
	}
	return egov1.Pending
}

// setRunResult derives the whole run's result from the last attempt's.
func setRunResult(a *egov1.Activity) {
	s := &a.Status
	s.Prosta, s.Result, s.Duration = prosta(a), egov1.Result{}, nil
	attempt := currentAttempt(a)
	if attempt == nil {
		return
	}
	s.Result = *attempt.Result.DeepCopy()
	first := slices.IndexFunc(s.Attempts, func(t egov1.Attempt) bool { return t.StartTime != nil })
	if first >= 0 {
		s.StartTime = s.Attempts[first].StartTime.DeepCopy()
	}
	if !s.Prosta.Finished() {
		s.FinishTime = nil
		return
	}
	if s.StartTime != nil && s.FinishTime != nil { // somebody may have written into the status
		s.Duration = &metav1.Duration{Duration: max(0, s.FinishTime.Sub(s.StartTime.Time)).Truncate(time.Second)}
	}
}

// suspendedMessage says what a suspended run waits for.
const suspendedMessage = "spec.suspend is true: nothing is started until it is false"

// stageMessages describe a run that has not ended, where there is nothing else to say.
var stageMessages = map[egov1.ProcessState]string{
	egov1.Pending:   "the command waits for a node",
	egov1.Suspended: suspendedMessage,
	egov1.Starting:  "the pod has a node; the command does not run yet",
	egov1.Running:   "the command runs",
	egov1.Retrying:  "an attempt has ended and the next one does not run yet",
}

// setConditions sets the conditions that every Activity has.
func setConditions(a *egov1.Activity) {
	list, generation, s := &a.Status.Conditions, a.Generation, a.Status
	meta.RemoveStatusCondition(list, commonv1.ConditionReady) // of a pass that failed; a run is Complete or Failed
	progressing := !s.Prosta.Finished() && s.Prosta != egov1.Suspended
	conditions.Set(list, generation, commonv1.ConditionProgressing, progressing, string(s.Prosta),
		cmp.Or(s.Message, stageMessages[s.Prosta], "the run has ended"))
	var podFailing *conditions.Problem
	if attempt := currentAttempt(a); attempt != nil && attempt.Reason == commonv1.ReasonPodFailing {
		podFailing = &conditions.Problem{Reason: commonv1.ReasonPodFailing, Message: s.Message}
	}
	conditions.SetDegraded(list, generation, podFailing)
	setSuspended(a)
	switch {
	case s.Prosta == egov1.Succeeded:
		conditions.Set(list, generation, commonv1.ConditionComplete, true, s.Reason, s.Message)
	case s.Prosta.Finished():
		conditions.Set(list, generation, commonv1.ConditionFailed, true, s.Reason, s.Message)
	}
}

// reportUnknownUser reports whether err is an unknown user, and if so sets in the status what must be
// fixed before the first attempt. The pass has not failed: deadlines run on, and an event follows the fixing.
func reportUnknownUser(a *egov1.Activity, err error) bool {
	var unknownUser *unknownUserError
	if !errors.As(err, &unknownUser) {
		return false
	}
	p := &conditions.Problem{Reason: commonv1.ReasonInvalidSpec, Message: unknownUser.Error()}
	a.Status.Reason, a.Status.Message = p.Reason, p.Message
	conditions.Set(&a.Status.Conditions, a.Generation, commonv1.ConditionProgressing, false, p.Reason, p.Message)
	conditions.SetDegraded(&a.Status.Conditions, a.Generation, p) // as the error of a pass: more urgent than what the pass found
	return true
}

// setSuspended sets the condition that says what spec.suspend has led to, once it was ever true.
func setSuspended(a *egov1.Activity) {
	list, generation := &a.Status.Conditions, a.Generation
	switch {
	case a.Status.Prosta == egov1.Suspended:
		conditions.Set(list, generation, commonv1.ConditionSuspended, true, commonv1.ReasonSpecSuspended, suspendedMessage)
	case a.Spec.Suspend && !a.Status.Prosta.Finished():
		conditions.Set(list, generation, commonv1.ConditionSuspended, false, commonv1.ReasonAlreadyStarted,
			"spec.suspend came after the start: the attempt continues, and no next one starts")
	case meta.FindStatusCondition(*list, commonv1.ConditionSuspended) != nil:
		conditions.Set(list, generation, commonv1.ConditionSuspended, false, commonv1.ReasonNotSuspended, "nothing is held back")
	}
}

// setHostResolved sets the condition that says, in the scheduler's words, why the host does not take the pod.
func setHostResolved(a *egov1.Activity, pod *corev1.Pod) {
	list, generation := &a.Status.Conditions, a.Generation
	if pod.Spec.NodeName != "" {
		conditions.Set(list, generation, commonv1.ConditionHostResolved, true, commonv1.ReasonScheduled, "the pod is on host "+a.Spec.Host)
		return
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			conditions.Set(list, generation, commonv1.ConditionHostResolved, false, commonv1.ReasonUnschedulable, "host "+a.Spec.Host+": "+c.Message)
		}
	}
}

// setNodeReachable reads from the pod whether its node answers: when a node falls silent, the cluster sets
// the pod's Ready to False, while the node's last report on its containers stands.
func setNodeReachable(a *egov1.Activity, pod *corev1.Pod) {
	list, generation := &a.Status.Conditions, a.Generation
	hasCondition := func(conditionType corev1.PodConditionType, status corev1.ConditionStatus) bool {
		return slices.ContainsFunc(pod.Status.Conditions,
			func(c corev1.PodCondition) bool { return c.Type == conditionType && c.Status == status })
	}
	switch {
	case commandStatus(pod).State.Running != nil && hasCondition(corev1.ContainersReady, corev1.ConditionTrue) &&
		hasCondition(corev1.PodReady, corev1.ConditionFalse):
		conditions.Set(list, generation, commonv1.ConditionNodeReachable, false, commonv1.ReasonNodeSilent,
			"node "+pod.Spec.NodeName+" does not answer; the command may continue there")
	case meta.FindStatusCondition(*list, commonv1.ConditionNodeReachable) != nil && pod.Spec.NodeName != "" && !isDisrupted(pod):
		conditions.Set(list, generation, commonv1.ConditionNodeReachable, true, commonv1.ReasonNodeAnswers, "node "+pod.Spec.NodeName+" answers")
	}
}

func timeoutText(a *egov1.Activity) string {
	if a.Spec.Timeout == nil {
		return ""
	}
	return a.Spec.Timeout.Duration.String()
}

// firstLine returns the first line of a text, without surrounding white space.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}
