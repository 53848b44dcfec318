package redis

import (
	"context"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func claimNamed(name, instance string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: name, UID: "uid-1", Labels: parts.Labels(config.AppName, instance),
		Annotations: topology.Stamp{Epoch: 3, ReplID: fixture.History, Standing: topology.Synced}.Annotations()}}
}

// newStampReconciler gives a Reconciler over claims.
func newStampReconciler(t *testing.T, claims ...ctrlclient.Object) (*Reconciler, *cachev1alpha1.Redis) {
	t.Helper()
	r, redis := &Reconciler{clock: clock.RealClock{}}, &cachev1alpha1.Redis{}
	r.Client = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(claims...).Build()
	redis.Namespace, redis.Name, redis.Spec.Storage = "n", "a", &cachev1alpha1.RedisStorage{}
	return r, redis
}

// writeStamp stamps the volume of a-0 as it was looked at.
func writeStamp(r *Reconciler, redis *cachev1alpha1.Redis, seen map[string]topology.Volume, is topology.Stamp) error {
	p := r.newPass(redis, nil)
	p.Volumes = seen
	return p.effects.WriteStamp(context.Background(), "a-0", is)
}

func TestVolumesAreThoseOfTheNodes(t *testing.T) {
	r, redis := newStampReconciler(t, claimNamed("data-a-0", "a"), claimNamed("data-a-8", "a"), claimNamed("data-a-9", "a"),
		claimNamed("data-a", "a"),
		claimNamed("data-a-x", "a"), claimNamed("data-a-01", "a"), claimNamed("a-0", "a"), claimNamed("data-b-0", "b"))
	found, err := r.newPass(redis, nil).listVolumes(t.Context())
	if err != nil || len(found) != 2 || found["a-0"].Epoch != 3 || found["a-8"].Standing != topology.Synced {
		t.Errorf("%v %v", err, found)
	}
	redis.Spec.Storage = nil
	if found, err = r.newPass(redis, nil).listVolumes(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("%v %v", err, found)
	}
}

func TestStampIsWrittenOnceAndKnownBeforeTheCacheHears(t *testing.T) {
	r, redis := newStampReconciler(t, claimNamed("data-a-0", "a"))
	stale, err := r.newPass(redis, nil).listVolumes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := stale["a-0"].Claim
	want := topology.Stamp{Epoch: 4, ReplID: fixture.NextHistory, Standing: topology.Leading}
	if err := writeStamp(r, redis, maps.Clone(stale), want); err != nil {
		t.Fatal(err)
	}
	if known, err := r.newPass(redis, nil).latestClaim(t.Context(), before); err != nil || topology.ReadStamp(known.Annotations) != want {
		t.Errorf("a cache that lags is believed: %v %v", err, known.Annotations)
	}
	if now, err := r.newPass(redis, nil).listVolumes(t.Context()); err != nil || now["a-0"].Stamp != want {
		t.Errorf("%v %+v", err, now["a-0"].Stamp)
	}
	// Who saw it as it was before writes nothing over it.
	if err := writeStamp(r, redis, stale, topology.Stamp{Epoch: 3, ReplID: fixture.History,
		Standing: topology.Behind}); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	written := before.DeepCopy()
	written.ResourceVersion = "9999"
	r.memory.Of(redis).writtenClaims[written.Name] = writtenClaim{written, r.clock.Now()}
	before.UID = "uid-2" // another volume of that name is another
	if known, err := r.newPass(redis, nil).latestClaim(t.Context(), before); err != nil || known != before {
		t.Errorf("%v %v", err, known.Annotations)
	}
}

// An API server that was restored from a backup never shows what was written after it.
func TestRestoredClaimsAreBelieved(t *testing.T) {
	r, redis := newStampReconciler(t, claimNamed("data-a-0", "a"))
	now := testingclock.NewFakePassiveClock(time.Now())
	r.clock, r.APIReader = now, r.Client
	restored, err := r.newPass(redis, nil).listVolumes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := restored["a-0"].Claim.DeepCopy()
	lost.ResourceVersion, lost.Annotations = "9999", topology.Stamp{Epoch: 9, ReplID: fixture.NextHistory,
		Standing: topology.Leading}.Annotations()
	r.memory.Of(redis).writtenClaims[lost.Name] = writtenClaim{lost, now.Now()}
	if seen, err := r.newPass(redis, nil).listVolumes(t.Context()); err != nil || seen["a-0"].Epoch != 9 {
		t.Errorf("a cache that lags is believed: %v %+v", err, seen["a-0"].Stamp)
	}
	now.SetTime(now.Now().Add(cacheLag))
	for range 2 {
		if seen, err := r.newPass(redis, nil).listVolumes(t.Context()); err != nil || seen["a-0"].Stamp != restored["a-0"].Stamp {
			t.Errorf("%v %+v", err, seen["a-0"].Stamp)
		}
	}
}

func TestVolumeThatIsGoneIsNotStamped(t *testing.T) {
	r, redis := newStampReconciler(t)
	gone := claimNamed("data-a-0", "a")
	gone.ResourceVersion = "1"
	volumes := map[string]topology.Volume{"a-0": {Claim: gone}}
	if err := writeStamp(r, redis, volumes, topology.Stamp{Epoch: 4, ReplID: fixture.History, Standing: topology.Leading}); err != nil {
		t.Error(err)
	}
}
