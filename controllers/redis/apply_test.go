package redis

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A pod without a server is replaced while nothing is done for the servers, by the operator that leads and has the newest object, and each
// whatever becomes of the others. It is asked for once, and again only after a while.
func TestWhenFailingPodsAreReplaced(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(cachev1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		do     topology.Verb
		given  func(*pass)
		denied string // pod whose deletion a webhook denies
		asked  int
		later  int // when it is tried again
	}{
		{"nothing can be done for the servers", topology.Wait, func(*pass) {}, "", 2, 4},
		{"a human is asked", topology.Block, func(*pass) {}, "", 2, 4},
		{"a failover goes first", topology.Fence, func(*pass) {}, "", 0, 0},
		{"another operator leads", topology.Wait, func(p *pass) { p.IsLeader = func() bool { return false } }, "", 0, 0},
		{"the object has changed", topology.Wait, func(p *pass) { p.Redis.ResourceVersion = "1" }, "", 0, 0},
		{"one deletion is denied", topology.Wait, func(*pass) {}, "a-1", 2, 4},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s, asked := fixture.Healthy(3), 0
			s.Namespace = "n"
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s.Redis.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(_ context.Context, _ ctrlclient.WithWatch, pod ctrlclient.Object, options ...ctrlclient.DeleteOption) error {
					o := (&ctrlclient.DeleteOptions{}).ApplyOptions(options)
					if o.Preconditions == nil || ptr.Deref(o.Preconditions.UID, "") != types.UID("new-"+pod.GetName()) {
						t.Error("a pod is deleted by its name alone")
					}
					asked++
					if pod.GetName() == c.denied {
						return errors.New("a webhook denies it")
					}
					return nil
				}}).Build()
			now := clocktesting.NewFakePassiveClock(fixture.Noon)
			r := &Reconciler{clock: now}
			r.Client, r.APIReader = api, api
			seen := s.DeepCopy()
			if err := api.Get(t.Context(), ctrlclient.ObjectKeyFromObject(seen), seen); err != nil {
				t.Fatal(err)
			}
			seen.Status = s.Status
			p := r.newPass(seen, nil)
			p.Spec, p.World, p.step = s.Situation().Spec, s.World, topology.Step{Do: c.do}
			for _, n := range []int{1, 2} {
				m := &p.Nodes[n]
				m.PodUID, m.Outdated, m.NotStarted = types.UID("new-"+m.Name), true, true
				fixture.MakeSilent(m)
			}
			c.given(p)
			ctx := logr.NewContext(t.Context(), logr.Discard())
			for range 2 { // the cache shows no deletion yet, or it is denied
				p.restartFailing(ctx)
			}
			if asked != c.asked {
				t.Errorf("%d deletions are asked for, want %d", asked, c.asked)
			}
			if got := p.recheckFailing(); got != deletionRetry {
				t.Errorf("the next look is due in %s", got)
			}
			now.SetTime(fixture.Noon.Add(deletionRetry))
			if p.restartFailing(ctx); asked != c.later {
				t.Errorf("later %d deletions are asked for, want %d", asked, c.later)
			}
		})
	}
}
