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
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

var csv = types.NamespacedName{Namespace: "operators", Name: "mainstay-operator.v0.1.0"}

// testEnv is an operator that asks OLM to wait.
type testEnv struct {
	*testing.T
	*Reconciler
	clock         *clocktesting.FakePassiveClock
	ctx           context.Context
	reads, writes int
	apiError      error // what OLM's API answers
	logged        []string
}

func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme, databasev1alpha1.AddToScheme, operatorsv2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	p := &testEnv{T: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))}
	made := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: csv.Name}}
	made.Spec.Deployments = []string{"theirs"}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(made).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			p.reads++
			if p.apiError != nil {
				return p.apiError
			}
			return next.Get(ctx, key, obj, opts...)
		},
		Patch: func(ctx context.Context, next client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			p.writes++
			return next.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	p.Reconciler = &Reconciler{Client: c, APIReader: c, Condition: csv, Clock: p.clock}
	p.ctx = log.IntoContext(t.Context(), funcr.New(func(_, args string) { p.logged = append(p.logged, args) }, funcr.Options{}))
	return p
}

// put replaces a Redis by this one.
func (t *testEnv) put(r *cachev1alpha1.Redis) {
	t.Helper()
	if err := client.IgnoreNotFound(t.Delete(t.ctx, r.DeepCopy())); err != nil {
		t.Fatal(err)
	}
	if err := t.Create(t.ctx, r); err != nil {
		t.Fatal(err)
	}
}

// reconcileAfter reconciles once after this time, and returns when the next pass is due.
func (t *testEnv) reconcileAfter(later time.Duration) time.Duration {
	t.Helper()
	t.clock.SetTime(t.clock.Now().Add(later))
	result, err := t.Reconcile(t.ctx, ctrl.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

// expect checks the report to OLM, and how many reads and writes there were in all.
func (t *testEnv) expect(status metav1.ConditionStatus, words string, reads, writes int) {
	t.Helper()
	if t.reads != reads || t.writes != writes {
		t.Errorf("%d reads and %d writes, want %d and %d", t.reads, t.writes, reads, writes)
	}
	var object operatorsv2.OperatorCondition
	if err := t.Get(t.ctx, csv, &object); err != nil {
		t.Fatal(err)
	}
	t.reads--
	c := meta.FindStatusCondition(object.Spec.Conditions, operatorsv2.Upgradeable)
	if c == nil || c.Status != status || !strings.Contains(c.Message, words) {
		t.Errorf("OLM got %+v, want %s: %s", c, status, words)
	}
	if len(object.Spec.Deployments) != 1 {
		t.Error("what is OLM's is lost")
	}
}

func failingOver(name string) *cachev1alpha1.Redis {
	r := healthy(func(r *cachev1alpha1.Redis) { r.Status.Epoch++ })
	r.Name = name
	return r
}

func healthyNamed(name string) *cachev1alpha1.Redis {
	r := healthy()
	r.Name = name
	return r
}

func TestReport(t *testing.T) {
	p := newTestEnv(t)
	if again := p.reconcileAfter(0); again != 0 {
		t.Errorf("nothing holds, yet it runs again in %s", again)
	}
	p.expect(metav1.ConditionTrue, "cuts nothing short", 1, 1)
	p.put(healthyNamed("a"))
	p.reconcileAfter(time.Hour)
	p.expect(metav1.ConditionTrue, "", 1, 1)

	p.put(failingOver("a"))
	if again := p.reconcileAfter(time.Hour); again != maxHold {
		t.Errorf("it runs again in %s", again)
	}
	p.expect(metav1.ConditionFalse, "Redis shop/a (the master is changing)", 2, 2)
	if again := p.reconcileAfter(9 * time.Minute); again != time.Minute {
		t.Errorf("it runs again in %s", again)
	}
	p.expect(metav1.ConditionFalse, "", 2, 2)
	if again := p.reconcileAfter(time.Minute); again != 0 {
		t.Errorf("it runs again in %s", again)
	}
	p.expect(metav1.ConditionTrue, "no longer waiting for Redis shop/a", 3, 3)

	p.put(healthyNamed("a"))
	p.reconcileAfter(time.Minute)
	p.expect(metav1.ConditionTrue, "cuts nothing short", 4, 4)

	next := &Reconciler{Client: p.Client, APIReader: p.APIReader, Condition: csv, Clock: p.clock}
	p.Reconciler = next // another leads, and finds it said
	p.reconcileAfter(0)
	p.expect(metav1.ConditionTrue, "", 5, 4)
}

func TestManyAtOnceAreFewWrites(t *testing.T) {
	p := newTestEnv(t)
	p.reconcileAfter(0)
	for i, name := range []string{"a", "b", "c", "d"} {
		p.put(failingOver(name))
		again := p.reconcileAfter(time.Second)
		if want := minWriteInterval - time.Duration(i)*time.Second; i > 0 && again != want {
			t.Errorf("%s is reported in %s, want %s", name, again, want)
		}
	}
	p.expect(metav1.ConditionFalse, "shop/a", 2, 2)
	p.reconcileAfter(2 * time.Second)
	p.expect(metav1.ConditionFalse, "shop/a (the master is changing), Redis shop/b (the master is changing), Redis shop/c", 3, 3)
	for _, name := range []string{"a", "b", "c", "d"} {
		p.put(healthyNamed(name))
	}
	p.reconcileAfter(0) // an upgrade waits no longer than it must
	p.expect(metav1.ConditionTrue, "", 4, 4)
}

func TestOLMDoesNotAsk(t *testing.T) {
	resource := schema.GroupResource{Group: operatorsv2.GroupVersion.Group, Resource: "operatorconditions"}
	for name, answer := range map[string]error{
		"the API is absent":     &meta.NoKindMatchError{GroupKind: operatorsv2.GroupVersion.WithKind("OperatorCondition").GroupKind()},
		"the object is missing": apierrors.NewNotFound(resource, csv.Name),
		"it is forbidden":       apierrors.NewForbidden(resource, csv.Name, errors.New("no role")),
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestEnv(t)
			p.apiError = answer
			p.reconcileAfter(0)
			for range 5 {
				p.reconcileAfter(time.Minute)
			}
			if p.reads != 1 || p.writes != 0 || len(p.logged) != 1 {
				t.Errorf("%d reads, %d writes, logged %q", p.reads, p.writes, p.logged)
			}
			p.put(failingOver("a"))
			if soon := p.reconcileAfter(0); soon != refusedRequeue {
				t.Errorf("it runs again in %s", soon)
			}
			if p.reconcileAfter(refusedRequeue); p.reads != 3 || len(p.logged) != 1 {
				t.Errorf("%d reads, logged %q", p.reads, p.logged)
			}
			p.apiError = nil // a right that came late
			p.reconcileAfter(refusedRequeue)
			p.expect(metav1.ConditionFalse, "shop/a", 4, 1)
			p.reconcileAfter(maxHold)
			p.expect(metav1.ConditionTrue, "no longer waiting", 5, 2)
		})
	}
}

func TestOtherFailuresAreTriedAgain(t *testing.T) {
	p := newTestEnv(t)
	p.apiError = apierrors.NewConflict(schema.GroupResource{}, csv.Name, nil)
	if again := p.reconcileAfter(0); again != conflictRequeue {
		t.Errorf("after a conflict again in %s", again)
	}
	p.apiError = errors.New("the server is away")
	if _, err := p.Reconcile(p.ctx, ctrl.Request{}); !errors.Is(err, p.apiError) {
		t.Errorf("the error is lost: %v", err)
	}
	p.apiError = nil
	p.reconcileAfter(0)
	p.expect(metav1.ConditionTrue, "", 3, 1)
	if len(p.logged) > 0 {
		t.Errorf("logged %q", p.logged)
	}
}

func TestOnlyHoldChangesWake(t *testing.T) {
	p, ok, busy := holdChanges(), healthy(), failingOver("a")
	for name, c := range map[string]struct{ got, want bool }{
		"made":            {p.Create(event.CreateEvent{Object: busy}), true},
		"found at rest":   {p.Create(event.CreateEvent{Object: ok}), false},
		"starts a change": {p.Update(event.UpdateEvent{ObjectOld: ok, ObjectNew: busy}), true},
		"leaves it":       {p.Update(event.UpdateEvent{ObjectOld: busy, ObjectNew: ok}), true},
		"continues to the next": {p.Update(event.UpdateEvent{ObjectOld: busy, ObjectNew: healthy(withNodeState(1, cachev1alpha1.RedisFenced))}),
			false},
		"rests on":         {p.Update(event.UpdateEvent{ObjectOld: ok, ObjectNew: ok}), false},
		"goes in a change": {p.Delete(event.DeleteEvent{Object: busy}), true},
		"goes at rest":     {p.Delete(event.DeleteEvent{Object: ok}), false},
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

func TestAnEtcdClusterIsReported(t *testing.T) {
	p := newTestEnv(t)
	if err := p.Create(p.ctx, formedEtcd(recoveringEtcd)); err != nil {
		p.Fatal(err)
	}
	p.reconcileAfter(0)
	p.expect(metav1.ConditionFalse, "EtcdCluster shop/e (it recovers from a lost majority)", 1, 1)
	if !holdChanges().Update(event.UpdateEvent{ObjectOld: formedEtcd(recoveringEtcd), ObjectNew: formedEtcd()}) {
		t.Error("the end of its recovery does not wake")
	}
}
