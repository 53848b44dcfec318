package activity

import (
	"slices"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

const (
	// defaultBackoff is the default of spec.retryPolicy.backoff, the same as Job's, and
	// maxBackoff is where doubling it ends.
	defaultBackoff = 10 * time.Second
	maxBackoff     = 10 * time.Minute
)

// shouldRetry reports whether another attempt follows one that has ended so. A lost one
// may have run, so none ever follows it.
func shouldRetry(a *egov1.Activity, attempt *egov1.Attempt) bool {
	switch policy := a.Spec.RetryPolicy; {
	case attempt.Number > a.Spec.Retries || a.Spec.Cancel || attempt.Reason == commonv1.ReasonStartDeadlineExceeded:
		return false
	case len(policy.Causes) == 0:
		return attempt.Prosta == egov1.Failed && exitCodeAllowsRetry(policy, attempt)
	default:
		return slices.Contains(policy.Causes, egov1.RetryCause(attempt.Prosta)) && exitCodeAllowsRetry(policy, attempt)
	}
}

// exitCodeAllowsRetry reports whether the exit code of a failed attempt, if the command gave one, allows a retry.
func exitCodeAllowsRetry(policy egov1.RetryPolicy, attempt *egov1.Attempt) bool {
	ran := attempt.ExitCode != nil && attempt.StartTime != nil && attempt.Reason != commonv1.ReasonNotStarted
	if policy.ExitCodes == nil || attempt.Prosta != egov1.Failed || !ran {
		return true
	}
	if len(policy.ExitCodes.RetryOn) > 0 {
		return slices.Contains(policy.ExitCodes.RetryOn, *attempt.ExitCode)
	}
	return !slices.Contains(policy.ExitCodes.FailOn, *attempt.ExitCode)
}

// retryTime returns when the attempt after this one may start; the zero time for at once. It
// is computed from the status alone, and so survives a restart of the operator.
func retryTime(a *egov1.Activity, attempt *egov1.Attempt) time.Time {
	policy := a.Spec.RetryPolicy
	empty := policy.Backoff == nil && policy.Causes == nil && policy.ExitCodes == nil
	if empty || attempt == nil || attempt.FinishTime == nil {
		return time.Time{}
	}
	backoff := defaultBackoff
	if policy.Backoff != nil {
		backoff = policy.Backoff.Duration
	}
	for range attempt.Number - 1 { // at most 10 times: no overflow
		backoff *= 2
	}
	return attempt.FinishTime.Add(min(backoff, maxBackoff))
}
