package converge

import (
	"context"
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// owner is an object of a kind that this package does not know.
type owner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Observed          int64       `json:"-"`
	Status            ownerStatus `json:"status"`
}

type ownerStatus struct {
	Stage      string             `json:"stage,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (o *owner) DeepCopyObject() runtime.Object {
	made := &owner{TypeMeta: o.TypeMeta, ObjectMeta: *o.DeepCopy(), Observed: o.Observed, Status: o.Status}
	made.Status.Conditions = slices.Clone(o.Status.Conditions)
	return made
}
func (o *owner) GetConditions() *[]metav1.Condition { return &o.Status.Conditions }
func (o *owner) GetObservedGeneration() int64       { return o.Observed }
func (*owner) SetObservedGeneration(int64)          {}
func (*owner) GetUnreadable() string                { return "" }

// newFakeClient returns a cache, or an API server, that has the object in that version.
func newFakeClient(version string) client.WithWatch {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Owner"}, &owner{})
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&owner{}).WithObjects(&owner{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", ResourceVersion: version},
	}).Build()
}

func TestAnObjectOlderThanOurWrite(t *testing.T) {
	key := client.ObjectKey{Namespace: "n", Name: "a"}
	for _, c := range []struct {
		reason       string
		shown        bool
		cached, live string
		acts         bool // at once, or when the pass comes again
	}{
		{"the cache has it", false, "10", "", true},
		{"the cache lags: nothing is asked", false, "9", "", false},
		{"the cache went back, the API server did not", true, "9", "10", false},
		{"the API server was restored", true, "9", "9", true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			passes := 0
			pass := func(over *Converger) ctrl.Result {
				t.Helper()
				result, err := Reconcile(t.Context(), over, ctrl.Request{NamespacedName: key}, &owner{},
					func(context.Context, *owner, SaveStatus) (ctrl.Result, error) {
						passes++
						return ctrl.Result{}, nil
					})
				if err != nil {
					t.Fatal(err)
				}
				return result
			}
			over := &Converger{Client: newFakeClient("10")}
			over.lastWrites.noteWrite(key, ownerItself, lastWrite{version: "10"})
			if c.shown {
				pass(over)
			}
			over.Client, passes = newFakeClient(c.cached), 0
			if c.live != "" {
				over.APIReader = newFakeClient(c.live)
			}
			if result := pass(over); result.RequeueAfter > 0 {
				pass(over)
			}
			if acts := passes == 1; acts != c.acts {
				t.Errorf("%d passes", passes)
			}
		})
	}
}

// A pass that saves and then fails is followed by passes that fail in the same way. They must not write the status: each write would
// bring the next pass at once.
func TestAPassThatFailsAgainAfterItsSaveWritesNothing(t *testing.T) {
	writes := 0
	over := &Converger{Events: events.NewFakeRecorder(100), Client: interceptor.NewClient(newFakeClient("10"), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, resource string, obj client.Object, patch client.Patch,
			options ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(resource).Patch(ctx, obj, patch, options...)
		},
	})}
	pass := func(stage string) {
		t.Helper()
		_, err := Reconcile(t.Context(), over, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "n", Name: "a"}}, &owner{},
			func(ctx context.Context, o *owner, save SaveStatus) (ctrl.Result, error) {
				o.Status.Stage = stage
				conditions.Set(&o.Status.Conditions, 1, commonv1.ConditionProgressing, true, "Running", "it runs")
				conditions.SetDegraded(&o.Status.Conditions, 1)
				return ctrl.Result{}, errors.Join(save(ctx), Invalid("host", "refused"))
			})
		if err == nil {
			t.Fatal("the pass must fail")
		}
	}
	for _, step := range []struct {
		stage string
		most  int
	}{
		{"runs", 2}, // what the pass must not lose, and how it ended
		{"runs", 0},
		{"runs", 0},
		{"has ended", 2},
		{"has ended", 0},
	} {
		writes = 0
		pass(step.stage)
		if writes > step.most || step.most > 0 && writes == 0 {
			t.Errorf("it %s: %d writes, at most %d", step.stage, writes, step.most)
		}
	}
}
