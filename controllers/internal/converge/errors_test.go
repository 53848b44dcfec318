package converge

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestToResult(t *testing.T) {
	resource := schema.GroupResource{Resource: "services"}
	conflict := apierrors.NewConflict(resource, "a", errors.New("modified"))
	internal := apierrors.NewInternalError(errors.New("etcd is away"))
	ending := apierrors.NewForbidden(resource, "a", errors.New("terminating"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	refused := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "a", nil)
	mine := Invalid("spec.image", "%q is none", "a b")
	foreign := NotOurs("Service", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}})

	former := fmt.Errorf("applying: %w", &pendingError{"pod \"a-0\" must end first"})
	absent := fmt.Errorf("reading: %w", &missingAPIError{"metrics.serviceMonitor: install it"})
	const quiet, soon, later, rarely, terminal, backedOff = "quiet", "soon", "later", "rarely", "terminal", "backed off"
	for _, c := range []struct {
		reason string
		err    error
		fate   string
		says   string
	}{
		{"nothing wrong", nil, quiet, ""},
		{"a lost race", conflict, soon, ""},
		{"a lost race, wrapped", fmt.Errorf("applying: %w", conflict), soon, ""},
		{"lost races alone", errors.Join(conflict, errors.Join(fmt.Errorf("b: %w", conflict))), soon, ""},
		{"a lost race and a failure", errors.Join(conflict, internal), backedOff, commonv1.ReasonRetrying},
		{"the same, wrapped together", fmt.Errorf("step: %w", errors.Join(conflict, internal)), backedOff, commonv1.ReasonRetrying},
		{"the namespace goes", ending, quiet, ""},
		{"the namespace goes in the middle of a race", errors.Join(ending, conflict), soon, ""},
		{"the namespace goes, and a failure", errors.Join(ending, internal), backedOff, ""},
		{"what must end first", former, later, commonv1.ReasonWaiting},
		{"what must end first, in a race", errors.Join(former, conflict), later, commonv1.ReasonWaiting},
		{"what must end first and a failure", errors.Join(former, internal), backedOff, commonv1.ReasonRetrying},
		{"a type that the cluster lacks", absent, rarely, commonv1.ReasonAPIMissing},
		{"the same, in a race", errors.Join(absent, conflict), later, commonv1.ReasonAPIMissing},
		{"the user's mistake", mine, terminal, commonv1.ReasonInvalidSpec},
		{"the user's mistake, wrapped", fmt.Errorf("planning: %w", mine), terminal, commonv1.ReasonInvalidSpec},
		{"the user's mistake and a failure that time fixes", errors.Join(internal, mine), backedOff, commonv1.ReasonInvalidSpec},
		{"a stranger", foreign, backedOff, commonv1.ReasonNameConflict},
		{"an object of another owner and a failure", errors.Join(internal, foreign), backedOff, commonv1.ReasonNameConflict},
		{"the server's refusal", fmt.Errorf("applying: %w", refused), backedOff, commonv1.ReasonRefusedByServer},
		{"the server's refusal of a key that is there twice",
			fmt.Errorf("applying: %w",
				apierrors.NewInternalError(errors.New(typedPatchRefusal+` (n/a): .spec: duplicate entries for key [name="a"]`))),
			backedOff, commonv1.ReasonRefusedByServer},
		{"anything else", errors.New("no route to host"), backedOff, commonv1.ReasonRetrying},
	} {
		t.Run(c.reason, func(t *testing.T) {
			result, err := toResult(ctrl.Result{}, c.err)
			got := quiet
			switch {
			case errors.Is(err, reconcile.TerminalError(nil)):
				got = terminal
			case err != nil:
				got = backedOff
			case result.RequeueAfter == missingAPIRecheck:
				got = rarely
			case result.RequeueAfter == pendingRequeue:
				got = later
			case result.RequeueAfter > 0:
				got = soon
			}
			if got != c.fate {
				t.Errorf("its fate is %s, not %s", got, c.fate)
			}
			if c.says == "" {
				return
			}
			if p := toProblem(c.err); p == nil || p.Reason != c.says {
				t.Errorf("it says %v, not %s", p, c.says)
			}
		})
	}
}

func TestWaitingIsNoError(t *testing.T) {
	if result, err := toResult(ctrl.Result{RequeueAfter: 7}, nil); result.RequeueAfter != 7 || err != nil {
		t.Errorf("got %v, %v", result, err)
	}
}

func TestAMistakeThatTimeMayEndIsLookedAtAgain(t *testing.T) {
	mine := Invalid("tls.secretName", "the certificate is not valid yet")
	if result, err := toResult(ctrl.Result{RequeueAfter: 7}, fmt.Errorf("reading: %w", mine)); result.RequeueAfter != 7 || err != nil {
		t.Errorf("got %v, %v", result, err)
	}
	if result, err := toResult(ctrl.Result{RequeueAfter: 7}, errors.Join(mine, errors.New("no route to host"))); result.RequeueAfter != 0 ||
		err == nil {
		t.Errorf("together with a failure: got %v, %v", result, err)
	}
}

func TestAMistakeNamesItsField(t *testing.T) {
	if p := toProblem(Invalid("spec.image", "%q is none", "a b")); p.Message != `spec.image: "a b" is none` || p.Transient {
		t.Errorf("got %+v", p)
	}
}

// A field that does not exist, or does not help, must not be named.
func TestAdviceNamesAFieldThatExists(t *testing.T) {
	refuse := func(resource, words string) error {
		return fmt.Errorf("creating: %w", apierrors.NewForbidden(corev1.Resource(resource), "a", errors.New(words)))
	}
	invalid := fmt.Errorf("creating: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", field.ErrorList{field.Invalid(
		field.NewPath("spec"), "2Gi", "must be less than or equal to ephemeral-storage limit of 1Gi")}))
	const full, unlimited = "exceeded quota: small, requested: limits.cpu=1", "failed quota: q: must specify limits.cpu for: fetch"
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"a pod of the spec", refuse("pods", full), ". Raise the ResourceQuota, or ask for less in spec.resources"},
		{"a pod with fixed resources", FixedResources(refuse("pods", full)), ". Raise the ResourceQuota"},
		{"a pod with fixed resources that a quota wants limits of", fmt.Errorf("fetching: %w", FixedResources(refuse("pods", unlimited))),
			". Create a LimitRange with default requests and limits in the namespace"},
		{"a pod with fixed resources and a LimitRange", FixedResources(refuse("pods", "maximum cpu usage per Container is 1")),
			". Change the LimitRange of the namespace"},
		{"an invalid pod of the spec", invalid, ". Set limits.ephemeral-storage in spec.resources"},
		{"an invalid pod with fixed resources", FixedResources(invalid), ". Raise the default limit of the LimitRange in the namespace"},
		{"a Service", refuse("services", "exceeded quota: small, requested: services=1"), ". Raise the ResourceQuota"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p := toProblem(c.err); p.Message != c.err.Error()+c.want {
				t.Errorf("it says %q", p.Message)
			}
		})
	}
	if FixedResources(nil) != nil {
		t.Error("no error has become one")
	}
}

func TestProblemStandsStill(t *testing.T) {
	err := func(port int) error {
		return fmt.Errorf("looking: read tcp 10.0.0.1:%d->10.0.0.2:6379: i/o timeout", port)
	}
	if a, b := toProblem(err(1)).Message, toProblem(err(2)).Message; a != b || a != "looking: read tcp 10.0.0.2:6379: i/o timeout" {
		t.Errorf("the condition moves with the port: %q, %q", a, b)
	}
}

func TestOneChildsFailureSaysNothingOfTheOthers(t *testing.T) {
	absent := &childError{childKey("ServiceMonitor", "a"), &missingAPIError{"metrics: install it"}}
	err := errors.Join(nil, absent, errors.Join(errors.New("pruning")))
	if !ChildSucceeded(err, "Deployment", "a") || !ChildSucceeded(nil, "Deployment", "a") || ChildSucceeded(err, "ServiceMonitor", "a") {
		t.Error("the Deployment stands, the ServiceMonitor does not")
	}
	if p := toProblem(err); p.Reason != commonv1.ReasonAPIMissing {
		t.Errorf("it says %v", p)
	}
}

func TestSoonest(t *testing.T) {
	for _, c := range []struct {
		want time.Duration
		all  []time.Duration
	}{{0, nil}, {0, []time.Duration{0, 0}}, {2, []time.Duration{0, 3, 2, 0}}, {2, []time.Duration{-1, 2}}} {
		if got := Soonest(c.all...); got != c.want {
			t.Errorf("of %v: %v", c.all, got)
		}
	}
}
