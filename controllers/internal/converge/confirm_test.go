package converge

import (
	"context"
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// world is an API server that has an owner in some version, two StatefulSets and a budget of the owner, and a cache that shows the
// owner in version 9 and the same children. Nothing that is written takes effect.
type world struct {
	Converger
	asked  int      // how often the API server was asked for the owner
	writes []string // in order
}

var errAPIServer = errors.New("no reply")

// newWorld returns a world whose API server has the owner in that version: "" if it has none, and "down" if it does not reply.
func newWorld(t *testing.T, live string) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Owner"}
	scheme.AddKnownTypeWithName(gvk, &owner{})
	of := &owner{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "one", ResourceVersion: "9"}}
	child := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "n", Name: name, UID: "child", ResourceVersion: "5",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, gvk)}}
	}
	w := &world{}
	w.Owned = []client.Object{&policyv1.PodDisruptionBudget{}}
	w.Client = fake.NewClientBuilder().WithScheme(scheme).
		WithIndex(&policyv1.PodDisruptionBudget{}, ownerIndex, controllerUID).
		WithObjects(of, &appsv1.StatefulSet{ObjectMeta: child("a")}, &appsv1.StatefulSet{ObjectMeta: child("b")},
			&policyv1.PodDisruptionBudget{ObjectMeta: child("a")}).
		WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
				w.writes = append(w.writes, "apply "+obj.(interface{ GetName() string }).GetName())
				return nil
			},
			Delete: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.DeleteOption) error {
				w.writes = append(w.writes, "delete "+obj.GetName())
				return nil
			},
			SubResourcePatch: func(_ context.Context, _ client.Client, _ string, obj client.Object, _ client.Patch,
				_ ...client.SubResourcePatchOption) error {
				obj.SetResourceVersion("10")
				return nil
			},
		}).Build()
	stored := fake.NewClientBuilder().WithScheme(scheme)
	if live != "" {
		newer := of.DeepCopyObject().(*owner)
		newer.ResourceVersion = live
		stored = stored.WithObjects(newer)
	}
	w.APIReader = interceptor.NewClient(stored.Build(), interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
			w.asked++
			if live == "down" {
				return errAPIServer
			}
			return api.Get(ctx, key, obj, options...)
		}})
	return w
}

// pass runs a pass that does what is asked, and returns what has become of it.
func (w *world) pass(t *testing.T, do func(*owner, SaveStatus) error) (ctrl.Result, error) {
	t.Helper()
	key := client.ObjectKey{Namespace: "n", Name: "a"}
	return Reconcile(t.Context(), &w.Converger, ctrl.Request{NamespacedName: key}, &owner{},
		func(_ context.Context, o *owner, save SaveStatus) (ctrl.Result, error) {
			return ctrl.Result{}, do(o, save)
		})
}

func TestWhatTakesAwayIsConfirmedOnce(t *testing.T) {
	set := func(name string) Child {
		return appsv1ac.StatefulSet(name, "n").WithSpec(appsv1ac.StatefulSetSpec().WithReplicas(3))
	}
	service := corev1ac.Service("new", "n")
	for _, c := range []struct {
		reason   string
		live     string // version of the owner at the API server
		saves    bool   // the pass saves the status before
		children []Child
		asked    int
		writes   []string
	}{
		{"what exists is changed, and what is not desired deleted", "9", false, []Child{set("a"), set("b")}, 1,
			[]string{"apply a", "apply b", "delete a"}},
		{"nothing of it by an older owner", "10", false, []Child{set("a"), set("b")}, 1, nil},
		{"nothing of it by an owner that is gone", "", false, []Child{set("a"), set("b")}, 1, nil},
		{"what is missing is created without a question; an older owner deletes nothing", "10", false, []Child{service}, 1,
			[]string{"apply new"}},
		{"a StatefulSet, which may adopt pods, is created after a question", "9", false, []Child{set("new")}, 1,
			[]string{"apply new", "delete a"}},
		{"an older owner creates no StatefulSet", "10", false, []Child{set("new")}, 1, nil},
		{"a save is a confirmation", "10", true, []Child{set("a"), set("b")}, 0, []string{"apply a", "apply b", "delete a"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t, c.live)
			result, err := w.pass(t, func(o *owner, save SaveStatus) error {
				if c.saves {
					o.Labels = map[string]string{"saved": "true"}
					if err := save(t.Context()); err != nil {
						return err
					}
				}
				_, err := w.Converge(t.Context(), o, c.children...)
				return err
			})
			refused := c.live != "9" && !c.saves
			if err != nil || refused != (result.RequeueAfter == conflictRequeue) {
				t.Errorf("next pass after %s, error: %v", result.RequeueAfter, err)
			}
			if w.asked != c.asked || !slices.Equal(w.writes, c.writes) {
				t.Errorf("asked %d times, wrote %q", w.asked, w.writes)
			}
		})
	}
}

// The next pass may have another object, although its version is the same: the answer to an earlier one does not count.
func TestEachPassAsksItself(t *testing.T) {
	w := newWorld(t, "9")
	for pass := 1; pass <= 2; pass++ {
		if _, err := w.pass(t, func(o *owner, _ SaveStatus) error { return w.Confirm(t.Context(), o) }); err != nil || w.asked != pass {
			t.Errorf("pass %d: asked %d times, error: %v", pass, w.asked, err)
		}
	}
}

func TestNothingIsTakenAwayWithoutAReply(t *testing.T) {
	w := newWorld(t, "down")
	_, err := w.pass(t, func(o *owner, _ SaveStatus) error {
		return errors.Join(w.Confirm(t.Context(), o), w.OrphanPods(t.Context(), o, &appsv1.StatefulSet{}))
	})
	if !errors.Is(err, errAPIServer) || w.asked != 1 || w.writes != nil {
		t.Errorf("asked %d times, wrote %q, error: %v", w.asked, w.writes, err)
	}
}

// A child that the cache does not have may be there: it is changed, not created.
func TestAHiddenChildIsChangedOnlyByAConfirmedOwner(t *testing.T) {
	for live, writes := range map[string]int{"9": 1, "10": 0} {
		w := newWorld(t, live)
		_, err := w.pass(t, func(o *owner, _ SaveStatus) error {
			want := &unstructured.Unstructured{}
			want.SetAPIVersion("apps/v1")
			want.SetKind("StatefulSet")
			want.SetName("a")
			_, err := w.send(t.Context(), o, want, &metav1.PartialObjectMetadata{})
			return err
		})
		if err != nil || len(w.writes) != writes {
			t.Errorf("the API server has version %s: wrote %q, error: %v", live, w.writes, err)
		}
	}
}
