package redis

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A pod without a server is replaced while nothing is done for the servers, by the operator that has the newest object, and each whatever
// becomes of the others.
func TestWhenFailingPodsAreReplaced(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(cachev1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	denied := errors.New("a webhook denies it")
	for _, c := range []struct {
		reason  string
		do      topology.Verb
		given   func(*pass)
		deny    bool
		deleted int
		fails   bool
	}{
		{"nothing can be done for the servers", topology.Wait, func(*pass) {}, false, 2, false},
		{"a human is asked", topology.Block, func(*pass) {}, false, 2, false},
		{"a failover goes first", topology.Fence, func(*pass) {}, false, 0, false},
		{"another operator leads", topology.Wait, func(p *pass) { p.IsLeader = func() bool { return false } }, false, 0, true},
		{"the object has changed", topology.Wait, func(p *pass) { p.Redis.ResourceVersion = "1" }, false, 0, true},
		{"one deletion is denied", topology.Wait, func(*pass) {}, true, 1, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := fixture.Healthy(3)
			s.Namespace = "n"
			deleted := 0
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s.Redis.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(_ context.Context, _ ctrlclient.WithWatch, pod ctrlclient.Object, options ...ctrlclient.DeleteOption) error {
					o := (&ctrlclient.DeleteOptions{}).ApplyOptions(options)
					if o.Preconditions == nil || o.Preconditions.UID == nil {
						t.Error("a pod is deleted by its name alone")
					}
					if c.deny && pod.GetName() == "a-1" {
						return denied
					}
					deleted++
					return nil
				}}).Build()
			r := &Reconciler{}
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
				m.PodUID, m.Outdated, m.NotStarted = "new", true, true
				fixture.MakeSilent(m)
			}
			c.given(p)
			if err := p.restartFailing(t.Context()); (err != nil) != c.fails || c.deny && !errors.Is(err, denied) {
				t.Errorf("error: %v", err)
			}
			if deleted != c.deleted {
				t.Errorf("%d pods are deleted, want %d", deleted, c.deleted)
			}
		})
	}
}
