package fleet

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A wish is whatever somebody typed, and one that came later stands.
func TestDismiss(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := cachev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored := &cachev1alpha1.Redis{}
	stored.Namespace, stored.Name = "ns", "a"
	stored.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: "a-9\a\x7f\"", "other": "stays"}
	r := startOperator(nil)
	r.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).Build()
	r.Events = events.NewFakeRecorder(1)
	read := func() *cachev1alpha1.Redis {
		var now cachev1alpha1.Redis
		if err := r.Get(t.Context(), ctrlclient.ObjectKeyFromObject(stored), &now); err != nil {
			t.Fatal(err)
		}
		return &now
	}

	seen := read()
	refused := topology.Step{Do: topology.DismissRequest, NodeNames: []string{seen.Annotations[cachev1alpha1.RedisSwitchover]},
		Message: "there is no such pod"}
	if err := r.fleetOf(seen).doDismissRequest(t.Context(), refused); err != nil {
		t.Fatal(err)
	}
	now := read()
	if _, there := now.Annotations[cachev1alpha1.RedisSwitchover]; there || now.Annotations["other"] != "stays" {
		t.Errorf("annotations %q", now.Annotations)
	}

	now.Annotations[cachev1alpha1.RedisSwitchover] = "a-1"
	if err := r.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if err := r.fleetOf(seen).doDismissRequest(t.Context(), refused); !apierrors.IsConflict(err) {
		t.Errorf("a wish that was not looked at: %v", err)
	}
	if read().Annotations[cachev1alpha1.RedisSwitchover] != "a-1" {
		t.Error("a newer wish was taken back")
	}
}

// A verb that acts and has no act would be done with at once.
func TestEachVerbThatActsHasAnAct(t *testing.T) {
	for verb, traits := range topology.Verbs() {
		if _, ok := acts[verb]; ok != traits.Acts {
			t.Errorf("%s: acts %t, has an act %t", verb, traits.Acts, ok)
		}
	}
	for verb := range acts {
		if _, ok := topology.Verbs()[verb]; !ok {
			t.Errorf("%s is no verb", verb)
		}
	}
}

func TestStartingAgainWithoutOneIsUnsafe(t *testing.T) {
	s := fixture.Healthy(3)
	fixture.RestartAll(s)
	s.Nodes[0].Keys = 9
	fixture.MakeSilent(&s.Nodes[1])
	s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "7"}
	if got := s.Situation().Plan(); got.Do != topology.Promote || !got.Unsafe {
		t.Errorf("got %s, unsafe %t", got, got.Unsafe)
	}
}
