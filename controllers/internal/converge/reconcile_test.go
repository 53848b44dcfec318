package converge

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// owner is an object of a kind that this package does not know.
type owner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	conditions        []metav1.Condition
	Observed          int64 `json:"-"`
}

func (o *owner) DeepCopyObject() runtime.Object {
	return &owner{TypeMeta: o.TypeMeta, ObjectMeta: *o.DeepCopy(), Observed: o.Observed}
}
func (o *owner) GetConditions() *[]metav1.Condition { return &o.conditions }
func (o *owner) GetObservedGeneration() int64       { return o.Observed }
func (*owner) SetObservedGeneration(int64)          {}
func (*owner) GetUnreadable() string                { return "" }

// newFakeClient returns a cache, or an API server, that has the object in that version.
func newFakeClient(version string) client.WithWatch {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Owner"}, &owner{})
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(&owner{
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
