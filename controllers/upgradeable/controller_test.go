package upgradeable

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

var csv = types.NamespacedName{Namespace: "operators", Name: "mainstay-operator.v0.1.0"}

// place where an operator asks OLM to wait.
type place struct {
	*testing.T
	*Reconciler
	clock         *clocktesting.FakePassiveClock
	ctx           context.Context
	reads, writes int
	fails         error // what OLM's API answers
	logged        []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme, operatorsv2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	p := &place{T: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))}
	made := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: csv.Name}}
	made.Spec.Deployments = []string{"theirs"}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(made).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			p.reads++
			if p.fails != nil {
				return p.fails
			}
			return next.Get(ctx, key, obj, opts...)
		},
		Patch: func(ctx context.Context, next client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			p.writes++
			return next.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	p.Reconciler = &Reconciler{Client: c, Live: c, Condition: csv, Clock: p.clock}
	p.ctx = log.IntoContext(t.Context(), funcr.New(func(_, args string) { p.logged = append(p.logged, args) }, funcr.Options{}))
	return p
}

// put a Redis there as it is now.
func (p *place) put(r *cachev1alpha1.Redis) {
	p.Helper()
	if err := client.IgnoreNotFound(p.Delete(p.ctx, r.DeepCopy())); err != nil {
		p.Fatal(err)
	}
	if err := p.Create(p.ctx, r); err != nil {
		p.Fatal(err)
	}
}

// pass runs once, later, and gives when it wants to run again.
func (p *place) pass(later time.Duration) time.Duration {
	p.Helper()
	p.clock.SetTime(p.clock.Now().Add(later))
	result, err := p.Reconcile(p.ctx, ctrl.Request{})
	if err != nil {
		p.Fatal(err)
	}
	return result.RequeueAfter
}

// expect what OLM was told, and by how many reads and writes in all.
func (p *place) expect(status metav1.ConditionStatus, words string, reads, writes int) {
	p.Helper()
	if p.reads != reads || p.writes != writes {
		p.Errorf("%d reads and %d writes, want %d and %d", p.reads, p.writes, reads, writes)
	}
	var object operatorsv2.OperatorCondition
	if err := p.Get(p.ctx, csv, &object); err != nil {
		p.Fatal(err)
	}
	p.reads--
	c := meta.FindStatusCondition(object.Spec.Conditions, operatorsv2.Upgradeable)
	if c == nil || c.Status != status || !strings.Contains(c.Message, words) {
		p.Errorf("OLM was told %+v, want %s: %s", c, status, words)
	}
	if len(object.Spec.Deployments) != 1 {
		p.Error("what is OLM's is lost")
	}
}

func lost(name string) *cachev1alpha1.Redis {
	r := well(func(r *cachev1alpha1.Redis) { r.Status.Epoch++ })
	r.Name = name
	return r
}

func rested(name string) *cachev1alpha1.Redis {
	r := well()
	r.Name = name
	return r
}

func TestTold(t *testing.T) {
	p := newPlace(t)
	if again := p.pass(0); again != 0 {
		t.Errorf("nothing holds, yet it runs again in %s", again)
	}
	p.expect(metav1.ConditionTrue, "cuts nothing short", 1, 1)
	p.put(rested("a"))
	p.pass(time.Hour)
	p.expect(metav1.ConditionTrue, "", 1, 1)

	p.put(lost("a"))
	if again := p.pass(time.Hour); again != patience {
		t.Errorf("it runs again in %s", again)
	}
	p.expect(metav1.ConditionFalse, "Redis shop/a (the master is changing)", 2, 2)
	if again := p.pass(9 * time.Minute); again != time.Minute {
		t.Errorf("it runs again in %s", again)
	}
	p.expect(metav1.ConditionFalse, "", 2, 2)
	if again := p.pass(time.Minute); again != 0 {
		t.Errorf("it runs again in %s", again)
	}
	p.expect(metav1.ConditionTrue, "no longer waiting for Redis shop/a", 3, 3)

	p.put(rested("a"))
	p.pass(time.Minute)
	p.expect(metav1.ConditionTrue, "cuts nothing short", 4, 4)

	next := &Reconciler{Client: p.Client, Live: p.Live, Condition: csv, Clock: p.clock}
	p.Reconciler = next // another leads, and finds it said
	p.pass(0)
	p.expect(metav1.ConditionTrue, "", 5, 4)
}

func TestManyAtOnceAreFewWrites(t *testing.T) {
	p := newPlace(t)
	p.pass(0)
	for i, name := range []string{"a", "b", "c", "d"} {
		p.put(lost(name))
		again := p.pass(time.Second)
		if want := pace - time.Duration(i)*time.Second; i > 0 && again != want {
			t.Errorf("%s is told in %s, want %s", name, again, want)
		}
	}
	p.expect(metav1.ConditionFalse, "shop/a", 2, 2)
	p.pass(2 * time.Second)
	p.expect(metav1.ConditionFalse, "shop/a (the master is changing), Redis shop/b (the master is changing), Redis shop/c", 3, 3)
	for _, name := range []string{"a", "b", "c", "d"} {
		p.put(rested(name))
	}
	p.pass(0) // an upgrade waits no longer than it must
	p.expect(metav1.ConditionTrue, "", 4, 4)
}

func TestNobodyAsks(t *testing.T) {
	resource := schema.GroupResource{Group: operatorsv2.GroupVersion.Group, Resource: "operatorconditions"}
	for name, answer := range map[string]error{
		"the API is absent":     &meta.NoKindMatchError{GroupKind: operatorsv2.GroupVersion.WithKind("OperatorCondition").GroupKind()},
		"the object is missing": apierrors.NewNotFound(resource, csv.Name),
		"it is forbidden":       apierrors.NewForbidden(resource, csv.Name, errors.New("no role")),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.fails = answer
			p.pass(0)
			for range 5 {
				p.pass(time.Minute)
			}
			if p.reads != 1 || p.writes != 0 || len(p.logged) != 1 {
				t.Errorf("%d reads, %d writes, logged %q", p.reads, p.writes, p.logged)
			}
			p.put(lost("a"))
			if soon := p.pass(0); soon != again {
				t.Errorf("it runs again in %s", soon)
			}
			if p.pass(again); p.reads != 3 || len(p.logged) != 1 {
				t.Errorf("%d reads, logged %q", p.reads, p.logged)
			}
			p.fails = nil // a right that came late
			p.pass(again)
			p.expect(metav1.ConditionFalse, "shop/a", 4, 1)
			p.pass(patience)
			p.expect(metav1.ConditionTrue, "no longer waiting", 5, 2)
		})
	}
}

func TestOtherFailuresAreTriedAgain(t *testing.T) {
	p := newPlace(t)
	p.fails = apierrors.NewConflict(schema.GroupResource{}, csv.Name, nil)
	if again := p.pass(0); again != shortly {
		t.Errorf("after a conflict again in %s", again)
	}
	p.fails = errors.New("the server is away")
	if _, err := p.Reconcile(p.ctx, ctrl.Request{}); !errors.Is(err, p.fails) {
		t.Errorf("the error is lost: %v", err)
	}
	p.fails = nil
	p.pass(0)
	p.expect(metav1.ConditionTrue, "", 3, 1)
	if len(p.logged) > 0 {
		t.Errorf("logged %q", p.logged)
	}
}

func TestOnlyTurnsWake(t *testing.T) {
	p, ok, busy := turns(), well(), lost("a")
	for name, c := range map[string]struct{ got, want bool }{
		"made":                {p.Create(event.CreateEvent{Object: busy}), true},
		"found at rest":       {p.Create(event.CreateEvent{Object: ok}), false},
		"enters a step":       {p.Update(event.UpdateEvent{ObjectOld: ok, ObjectNew: busy}), true},
		"leaves it":           {p.Update(event.UpdateEvent{ObjectOld: busy, ObjectNew: ok}), true},
		"goes on to the next": {p.Update(event.UpdateEvent{ObjectOld: busy, ObjectNew: well(node(1, cachev1alpha1.RedisFenced))}), false},
		"rests on":            {p.Update(event.UpdateEvent{ObjectOld: ok, ObjectNew: ok}), false},
		"goes in a step":      {p.Delete(event.DeleteEvent{Object: busy}), true},
		"goes at rest":        {p.Delete(event.DeleteEvent{Object: ok}), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: wakes %t", name, c.got)
		}
	}
}

func TestFromEnv(t *testing.T) {
	got, err := FromEnv(csv.Namespace)
	if err != nil || got != (types.NamespacedName{}) {
		t.Errorf("not installed by OLM: %v, %v", got, err)
	}
	t.Setenv("OPERATOR_CONDITION_NAME", csv.Name)
	if _, err := FromEnv(""); err == nil || !strings.Contains(err.Error(), "OPERATOR_CONDITION_NAME") {
		t.Errorf("without a namespace: %v", err)
	}
	if got, err := FromEnv(csv.Namespace); err != nil || got != csv {
		t.Errorf("got %v, %v", got, err)
	}
}
