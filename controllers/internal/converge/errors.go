package converge

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// conflictRequeue is how soon a pass that met a conflict runs again: long enough for the
// cache to have caught up with the write that won.
const conflictRequeue = 100 * time.Millisecond

// localAddress matches our own end of a connection in the words of net.OpError. Its port differs each time, so in a
// condition it would cause a write for each try.
var localAddress = regexp.MustCompile(`[0-9a-f.:\[\]]+:[0-9]+->`)

// typedPatchRefusal is how the API server refuses an apply in which a list holds a key twice. That error has the same
// reason as the server's own failures.
const typedPatchRefusal = "failed to create typed patch object"

// invalidError is a mistake of the user's: retrying cannot help, editing can.
type invalidError struct{ text string }

func (i *invalidError) Error() string { return i.text }

// Invalid reports what is wrong with a field of the spec. It becomes a condition and is not retried until the object
// changes, or the time comes that the reconcile function asked for.
func Invalid(field, format string, args ...any) error {
	return &invalidError{text: field + ": " + fmt.Sprintf(format, args...)}
}

// notOursError means that an object which is not ours has a child's name.
type notOursError struct{ text string }

func (n *notOursError) Error() string { return n.text }

// NotOurs refuses an object that the owner does not control.
func NotOurs(kind string, live client.Object) error {
	return &notOursError{text: fmt.Sprintf("%s %q exists and belongs to somebody else; delete it or give this object another name",
		kind, live.GetName())}
}

// childError is the error of one child; it says nothing of the others.
type childError struct {
	child string
	error
}

func (c *childError) Unwrap() error { return c.error }

// ChildSucceeded reports whether Converge's error holds no failure of that child: then the child is as desired.
func ChildSucceeded(err error, kind, name string) bool {
	switch e := err.(type) { //nolint:errorlint // it is the wrapping that is looked at
	case *childError:
		return e.child != childKey(kind, name)
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(joined error) bool { return !ChildSucceeded(joined, kind, name) })
	}
	return true
}

// fixedResourcesError is about a pod whose resources no field of the spec chooses.
type fixedResourcesError struct{ error }

func (f *fixedResourcesError) Unwrap() error { return f.error }

// FixedResources marks the error of a write of a pod whose resources no field of the spec chooses, so that no message names one.
func FixedResources(err error) error {
	if err == nil {
		return nil
	}
	return &fixedResourcesError{err}
}

// resourcesField returns the field with the resources of the pod that was refused; "" if there is none, or no pod was refused.
func resourcesField(err error) string {
	var fixed *fixedResourcesError
	var status apierrors.APIStatus
	if errors.As(err, &fixed) {
		return ""
	}
	if errors.As(err, &status) && status.Status().Details != nil {
		if refused := status.Status().Details.Kind; refused != "pods" && refused != "Pod" { // the kind is of a pod that is not valid
			return ""
		}
	}
	return "spec.resources"
}

// toProblem says what an error means to the user, for the conditions.
func toProblem(err error) *conditions.Problem {
	var wrong *invalidError
	var foreign *notOursError
	var absent *missingAPIError
	var held *heldError
	switch {
	case err == nil, allErrors(err, isConflictOrTerminating):
		return nil
	case errors.As(err, &wrong):
		return &conditions.Problem{Reason: commonv1.ReasonInvalidSpec, Message: wrong.text}
	case errors.As(err, &foreign):
		return &conditions.Problem{Reason: commonv1.ReasonNameConflict, Message: foreign.text}
	case errors.As(err, &absent):
		return &conditions.Problem{Reason: commonv1.ReasonAPIMissing, Message: absent.text}
	case errors.As(err, &held):
		return &conditions.Problem{Reason: commonv1.ReasonReconcileStuck, Message: held.text}
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), strings.Contains(err.Error(), typedPatchRefusal):
		return &conditions.Problem{Reason: commonv1.ReasonRefusedByServer,
			Message: err.Error() + conditions.RefusalAdvice(err.Error(), resourcesField(err))}
	case allErrors(err, isWaiting):
		return &conditions.Problem{Reason: commonv1.ReasonWaiting, Message: err.Error(), Transient: true}
	default:
		return &conditions.Problem{Reason: commonv1.ReasonRetrying, Message: localAddress.ReplaceAllString(err.Error(), ""),
			Transient: true}
	}
}

// toResult turns the outcome of a reconcile function into what the queue does next. Joined errors are treated like the
// one that needs most.
func toResult(result ctrl.Result, err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		return result, nil
	case allErrors(err, isNamespaceTerminating):
		return ctrl.Result{}, nil // the namespace's end takes the object along
	case allErrors(err, isConflictOrTerminating):
		return ctrl.Result{RequeueAfter: conflictRequeue}, nil
	case allErrors(err, isMissingAPI):
		return ctrl.Result{RequeueAfter: missingAPIRecheck}, nil
	case allErrors(err, isWaiting):
		return ctrl.Result{RequeueAfter: pendingRequeue}, nil
	case allErrors(err, isInvalidOrHeld) && result.RequeueAfter > 0:
		return result, nil // time may end it, too
	case allErrors(err, isInvalid):
		return ctrl.Result{}, reconcile.TerminalError(err)
	default:
		return ctrl.Result{}, err
	}
}

func isNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func isConflictOrTerminating(err error) bool {
	return apierrors.IsConflict(err) || isNamespaceTerminating(err)
}

// isWaiting reports whether the cause ends without any event to us.
func isWaiting(err error) bool {
	return isConflictOrTerminating(err) || isPending(err) || isMissingAPI(err)
}

func isInvalid(err error) bool {
	var wrong *invalidError
	return errors.As(err, &wrong)
}

func isInvalidOrHeld(err error) bool {
	var held *heldError
	return isInvalid(err) || errors.As(err, &held)
}

// allErrors reports whether the test holds for each of the errors joined into err.
func allErrors(err error, test func(error) bool) bool {
	switch e := err.(type) { //nolint:errorlint // it is the wrapping that is looked at
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(joined error) bool { return !allErrors(joined, test) })
	case interface{ Unwrap() error }:
		return allErrors(e.Unwrap(), test)
	}
	return test(err)
}

// Soonest returns the shortest of the times until an object is to be looked at, of which 0 means never.
func Soonest(all ...time.Duration) time.Duration {
	all = slices.DeleteFunc(slices.Clone(all), func(d time.Duration) bool { return d <= 0 })
	if len(all) == 0 {
		return 0
	}
	return slices.Min(all)
}
