package converge

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/newleader"
)

func newOwner(generation, observed int64) *owner {
	return &owner{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one", Generation: generation}, Observed: observed}
}

func TestWhichObjectIsUnobserved(t *testing.T) {
	deleted := newOwner(3, 2) // its deletion has raised the generation
	deleted.DeletionTimestamp = &metav1.Time{}
	intent := newOwner(3, 2)
	intent.Status.Conditions = []metav1.Condition{{Type: "Ready", ObservedGeneration: 3}}
	for _, c := range []struct {
		reason string
		object *owner
		want   bool
	}{
		{"its status is of this generation", newOwner(2, 2), false},
		{"its spec was edited", newOwner(3, 2), true},
		{"it has no status", newOwner(1, 0), true},
		{"it is being deleted", deleted, true},
		{"a pass saved conditions, and did not end", intent, true},
		{"its API server was restored to an earlier state", newOwner(2, 3), false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := isUnobserved(c.object); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// notedQueue notes with which priority an object was added.
type notedQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	priorities []int
}

func (n *notedQueue) Add(object reconcile.Request) { n.AddWithOpts(priorityqueue.AddOpts{}, object) }

func (n *notedQueue) AddWithOpts(o priorityqueue.AddOpts, objects ...reconcile.Request) {
	for _, object := range objects {
		if object != newRequest("a", "one") {
			panic(fmt.Sprintf("%s was added", object))
		}
		n.priorities = append(n.priorities, ptr.Deref(o.Priority, 0))
	}
}

func TestPriorityOfAnEventOfAnObject(t *testing.T) {
	const ordinary = 0
	observed, edited := newOwner(2, 2), newOwner(3, 2)
	observed.ResourceVersion, edited.ResourceVersion = "1", "2"
	for _, c := range []struct {
		reason string
		send   func(context.Context, handler.EventHandler, *notedQueue)
		want   int
	}{
		{"an observed object in the initial list has low priority", func(ctx context.Context, h handler.EventHandler, q *notedQueue) {
			h.Create(ctx, event.CreateEvent{Object: observed, IsInInitialList: true}, q)
		}, handler.LowPriority},
		{"an unobserved object in the initial list has ordinary priority", func(ctx context.Context, h handler.EventHandler, q *notedQueue) {
			h.Create(ctx, event.CreateEvent{Object: edited, IsInInitialList: true}, q)
		}, ordinary},
		{"an observed object that appears later has ordinary priority", func(ctx context.Context, h handler.EventHandler, q *notedQueue) {
			h.Create(ctx, event.CreateEvent{Object: observed}, q)
		}, ordinary},
		{"an edit has ordinary priority", func(ctx context.Context, h handler.EventHandler, q *notedQueue) {
			h.Update(ctx, event.UpdateEvent{ObjectOld: observed, ObjectNew: edited}, q)
		}, ordinary},
		{"what is merely listed again has low priority", func(ctx context.Context, h handler.EventHandler, q *notedQueue) {
			h.Update(ctx, event.UpdateEvent{ObjectOld: edited, ObjectNew: edited}, q)
		}, handler.LowPriority},
		{"a deletion has ordinary priority", func(ctx context.Context, h handler.EventHandler, q *notedQueue) {
			h.Delete(ctx, event.DeleteEvent{Object: observed}, q)
		}, ordinary},
	} {
		t.Run(c.reason, func(t *testing.T) {
			q := &notedQueue{}
			c.send(t.Context(), &enqueueUnobservedFirst{}, q)
			if want := []int{c.want}; !slices.Equal(q.priorities, want) {
				t.Errorf("priorities %v, want %v", q.priorities, want)
			}
		})
	}
}

func TestPriorityOfAPodInTheInitialList(t *testing.T) {
	const ordinary = 0
	now := time.Unix(1_000_000, 0)
	running := func(ready corev1.ConditionStatus, ago time.Duration, restarts int32) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one-0", Labels: parts.Labels("owner", "one")},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{}, {RestartCount: restarts}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(now.Add(-ago))}}},
		}
	}
	ended := running(corev1.ConditionFalse, 0, 1)
	ended.Status.Phase = corev1.PodSucceeded
	for _, c := range []struct {
		reason string
		pod    *corev1.Pod
		want   int
	}{
		{"a pod that is not ready has ordinary priority", running(corev1.ConditionFalse, time.Hour, 0), ordinary},
		{"a pod that is ready has low priority", running(corev1.ConditionTrue, time.Hour, 0), handler.LowPriority},
		{"a pod that is new has low priority", running(corev1.ConditionTrue, 0, 0), handler.LowPriority},
		{"a pod that was restarted since the last leader has ordinary priority", running(corev1.ConditionTrue, leaderlessTime-1, 1), ordinary},
		{"a pod that was restarted before that has low priority", running(corev1.ConditionTrue, leaderlessTime, 1), handler.LowPriority},
		{"a pod that became ready by a clock ahead of ours has ordinary priority", running(corev1.ConditionTrue, -time.Second, 1), ordinary},
		{"a pod that has ended has low priority", ended, handler.LowPriority},
	} {
		t.Run(c.reason, func(t *testing.T) {
			q := &notedQueue{}
			enqueue := EnqueueForInstance("owner").(*enqueueUnreadyFirst)
			enqueue.clock = clocktesting.NewFakePassiveClock(now)
			enqueue.Create(t.Context(), event.CreateEvent{Object: c.pod, IsInInitialList: true}, q)
			if want := []int{c.want}; !slices.Equal(q.priorities, want) {
				t.Errorf("priorities %v, want %v", q.priorities, want)
			}
		})
	}
}

// What was edited while there was no leader is the last of a long list, and still one of the first to have a worker.
func TestANewLeaderReconcilesFirstWhatWasEdited(t *testing.T) {
	const many = 200
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Owner"}, &owner{})
	for reason, namespaceOf := range map[string]func(int) string{
		"among many of one namespace":          func(int) string { return "a" },
		"when each has a namespace of its own": func(i int) string { return fmt.Sprint("a", i) },
	} {
		t.Run(reason, func(t *testing.T) {
			var objects []client.Object
			for i := range many {
				object := newOwner(2, 2)
				object.Namespace, object.Name = namespaceOf(i), fmt.Sprint(i)
				objects = append(objects, object)
			}
			last := objects[many-1].(*owner)
			last.Observed = 1
			got := newleader.FirstPasses(t, scheme, objects, func(mgr ctrl.Manager) error {
				c := &Converger{Client: mgr.GetClient()}
				return c.SetUpController(mgr, &owner{}, "owner", c.Options(&owner{}),
					reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
						return Reconcile(ctx, c, request, &owner{}, func(context.Context, *owner, SaveStatus) (ctrl.Result, error) {
							return ctrl.Result{}, nil
						})
					}))
			})
			if len(got) == 0 || len(got) > defaultWorkers || !slices.Contains(got, client.ObjectKeyFromObject(last)) {
				t.Errorf("the first passes are over %v", got)
			}
		})
	}
}
