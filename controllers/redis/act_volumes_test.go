package redis

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

func nothingSaved(context.Context) error { return nil }

func claimNamed(name, instance string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: name, UID: "uid-1", Labels: parts.Labels(kind, instance),
		Annotations: stamp{3, history, synced}.annotations()}}
}

// archive is a Reconciler over claims.
func archive(t *testing.T, claims ...ctrlclient.Object) (*Reconciler, *cachev1alpha1.Redis) {
	t.Helper()
	r, redis := &Reconciler{}, &cachev1alpha1.Redis{}
	r.Client = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(claims...).Build()
	redis.Namespace, redis.Name, redis.Spec.Storage = "n", "a", &cachev1alpha1.RedisStorage{}
	return r, redis
}

func TestVolumesAreThoseOfTheNodes(t *testing.T) {
	r, redis := archive(t, claimNamed("data-a-0", "a"), claimNamed("data-a-8", "a"), claimNamed("data-a-9", "a"), claimNamed("data-a", "a"),
		claimNamed("data-a-x", "a"), claimNamed("data-a-01", "a"), claimNamed("a-0", "a"), claimNamed("data-b-0", "b"))
	found, err := r.volumes(t.Context(), redis)
	if err != nil || len(found) != 2 || found["a-0"].epoch != 3 || found["a-8"].standing != synced {
		t.Errorf("%v %v", err, found)
	}
	redis.Spec.Storage = nil
	if found, err = r.volumes(t.Context(), redis); err != nil || len(found) > 0 {
		t.Errorf("%v %v", err, found)
	}
}

func TestStampIsWrittenOnceAndKnownBeforeTheCacheHears(t *testing.T) {
	r, redis := archive(t, claimNamed("data-a-0", "a"))
	stale, err := r.volumes(t.Context(), redis)
	if err != nil {
		t.Fatal(err)
	}
	before := stale["a-0"].claim
	want := stamp{4, nextHistory, leading}
	if err := r.stamper(redis, maps.Clone(stale))(t.Context(), "a-0", want); err != nil {
		t.Fatal(err)
	}
	if known := r.memory.latest(redis, before); readStamp(known.Annotations) != want {
		t.Errorf("a cache that lags is believed: %v", known.Annotations)
	}
	if now, err := r.volumes(t.Context(), redis); err != nil || now["a-0"].stamp != want {
		t.Errorf("%v %+v", err, now["a-0"].stamp)
	}
	// Who saw it as it was before writes nothing over it.
	if err := r.stamper(redis, stale)(t.Context(), "a-0", stamp{3, history, behind}); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	before.UID = "uid-2" // another volume of that name is another
	if known := r.memory.latest(redis, before); known != before {
		t.Errorf("got %v", known.Annotations)
	}
}

func TestVolumeThatIsGoneIsNotStamped(t *testing.T) {
	r, redis := archive(t)
	gone := claimNamed("data-a-0", "a")
	gone.ResourceVersion = "1"
	volumes := map[string]volume{"a-0": {claim: gone}}
	if err := r.stamper(redis, volumes)(t.Context(), "a-0", stamp{4, history, leading}); err != nil {
		t.Error(err)
	}
}
