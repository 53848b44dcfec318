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

// again is how soon a pass that met a conflict runs again: long enough for the
// cache to have caught up with the write that won.
const again = 100 * time.Millisecond

// ephemeral is our own end of a connection in the words of net.OpError. Its port
// is another each time; in a condition it would be a new write for each try.
var ephemeral = regexp.MustCompile(`[0-9a-f.:\[\]]+:[0-9]+->`)

// untyped is how the API server refuses an apply in which a list holds a key twice. The
// error bears the reason of its own failures.
const untyped = "failed to create typed patch object"

// mistake is an error of the user's making: retrying cannot help, editing can.
type mistake struct{ text string }

func (m *mistake) Error() string { return m.text }

// Invalid reports what is wrong with a field of the spec. It becomes a
// condition and is not retried until the object changes, or the story's time comes.
func Invalid(field, format string, args ...any) error {
	return &mistake{text: field + ": " + fmt.Sprintf(format, args...)}
}

// stranger is an object of a child's name that is not ours.
type stranger struct{ text string }

func (s *stranger) Error() string { return s.text }

// NotOurs refuses an object that the owner does not control.
func NotOurs(kind string, live client.Object) error {
	return &stranger{text: fmt.Sprintf("%s %q exists and belongs to somebody else; delete it or give this object another name",
		kind, live.GetName())}
}

// failure of one child, which says nothing of the others.
type failure struct {
	place string
	error
}

func (f *failure) Unwrap() error { return f.error }

// Stands is true when what Converge answered has no failure of that child: it is as desired.
func Stands(err error, kind, name string) bool {
	switch e := err.(type) { //nolint:errorlint // it is the wrapping that is looked at
	case *failure:
		return e.place != place(kind, name)
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(one error) bool { return !Stands(one, kind, name) })
	}
	return true
}

// problem tells the conditions what an error means to the user.
func problem(err error) *conditions.Problem {
	var wrong *mistake
	var foreign *stranger
	var absent *missing
	switch {
	case err == nil, every(err, passing):
		return nil
	case errors.As(err, &wrong):
		return &conditions.Problem{Reason: commonv1.ReasonInvalid, Message: wrong.text, NeedsHuman: true}
	case errors.As(err, &foreign):
		return &conditions.Problem{Reason: commonv1.ReasonNameConflict, Message: foreign.text, NeedsHuman: true}
	case errors.As(err, &absent):
		return &conditions.Problem{Reason: commonv1.ReasonAPIMissing, Message: absent.text, NeedsHuman: true}
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), strings.Contains(err.Error(), untyped):
		return &conditions.Problem{Reason: commonv1.ReasonRefused, Message: err.Error(), NeedsHuman: true}
	case every(err, temporary):
		return &conditions.Problem{Reason: commonv1.ReasonWaiting, Message: err.Error()}
	default:
		return &conditions.Problem{Reason: commonv1.ReasonRetrying, Message: ephemeral.ReplaceAllString(err.Error(), "")}
	}
}

// fate turns a story's end into what the queue does next. Joined errors share
// the fate of the one that needs most.
func fate(result ctrl.Result, err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		return result, nil
	case every(err, terminating):
		return ctrl.Result{}, nil // the namespace's end takes the object along
	case every(err, passing):
		return ctrl.Result{RequeueAfter: again}, nil
	case every(err, lacking):
		return ctrl.Result{RequeueAfter: absence}, nil
	case every(err, temporary):
		return ctrl.Result{RequeueAfter: recheck}, nil
	case every(err, mistaken) && result.RequeueAfter > 0:
		return result, nil // time may end the mistake, too
	case every(err, mistaken):
		return ctrl.Result{}, reconcile.TerminalError(err)
	default:
		return ctrl.Result{}, err
	}
}

func terminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func passing(err error) bool { return apierrors.IsConflict(err) || terminating(err) }

// temporary is what ends without a word to us.
func temporary(err error) bool { return passing(err) || awaited(err) || lacking(err) }

func mistaken(err error) bool {
	var wrong *mistake
	return errors.As(err, &wrong)
}

// every is true when the test holds for each of the errors joined into err.
func every(err error, test func(error) bool) bool {
	switch e := err.(type) { //nolint:errorlint // it is the wrapping that is looked at
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(one error) bool { return !every(one, test) })
	case interface{ Unwrap() error }:
		return every(e.Unwrap(), test)
	}
	return test(err)
}

// Soonest of the times until an object is to be looked at, of which 0 is never.
func Soonest(all ...time.Duration) time.Duration {
	all = slices.DeleteFunc(slices.Clone(all), func(d time.Duration) bool { return d <= 0 })
	if len(all) == 0 {
		return 0
	}
	return slices.Min(all)
}
