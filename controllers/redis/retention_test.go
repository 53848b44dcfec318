package redis

import (
	"context"
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// claimed is a healthy Redis of two nodes, with Delete, and the claim of a third node that has left.
type claimed struct {
	*fixture.Scene
	set  *appsv1.StatefulSet
	live func(*cachev1alpha1.Redis) // what has changed since the cache was filled
}

func newClaimed() *claimed {
	c := &claimed{Scene: fixture.WithVolumes(fixture.Healthy(2)), set: &appsv1.StatefulSet{}, live: func(*cachev1alpha1.Redis) {}}
	c.Namespace, c.UID, c.Spec.Storage.Retention = "n", "redis", cachev1alpha1.RedisDelete
	c.set.Namespace, c.set.Name, c.set.Spec.Replicas = "n", "a", ptr.To[int32](2)
	return c
}

// settle runs what a pass does to the claim of a-2, and returns its owners.
func (c *claimed) settle(t *testing.T, owners ...types.UID) (got []types.UID, deleted bool, err error) {
	t.Helper()
	claim := claimNamed("data-a-2", "a")
	for _, uid := range owners {
		claim.OwnerReferences = append(claim.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1",
			Kind: map[types.UID]string{"set": "StatefulSet"}[uid], Name: "a", UID: uid})
	}
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = cachev1alpha1.AddToScheme(scheme)
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, c.Redis.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, api ctrlclient.WithWatch, obj ctrlclient.Object, options ...ctrlclient.DeleteOption) error {
			o := (&ctrlclient.DeleteOptions{}).ApplyOptions(options)
			if o.Preconditions == nil || ptr.Deref(o.Preconditions.UID, "") != "uid-1" || ptr.Deref(o.Preconditions.ResourceVersion, "") == "" {
				t.Error("a claim is deleted by its name alone")
			}
			return api.Delete(ctx, obj)
		}}).Build()
	key := ctrlclient.ObjectKeyFromObject(claim)
	if err := errors.Join(api.Get(t.Context(), key, claim), api.Get(t.Context(), ctrlclient.ObjectKeyFromObject(c.Redis),
		c.Redis)); err != nil {
		t.Fatal(err)
	}
	live := c.DeepCopy()
	if c.live(live); live.Spec.Storage.Retention != c.Spec.Storage.Retention {
		if err := api.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
	}
	c.Volumes["a-2"] = topology.Volume{Stamp: topology.Stamp{Epoch: 7, ReplID: fixture.History}, Claim: claim}
	for _, node := range []string{"a-0", "a-1"} { // those stay
		kept := claimNamed("data-"+node, "a")
		kept.OwnerReferences = []metav1.OwnerReference{children.ClaimRetention(c.Redis, c.Situation(), c.set).Owner}
		if err := api.Create(t.Context(), kept); err != nil {
			t.Fatal(err)
		}
		c.Volumes[node] = topology.Volume{Stamp: c.Volumes[node].Stamp, Claim: kept}
	}
	r := &Reconciler{Converger: converge.Converger{Client: api, APIReader: api}, clock: clock.RealClock{}}
	p := r.newPass(c.Redis, nil)
	p.World, p.Set = c.World, c.set
	err = p.settleClaims(t.Context())
	var now corev1.PersistentVolumeClaim
	gone := api.Get(t.Context(), key, &now)
	for _, owner := range now.OwnerReferences {
		got = append(got, owner.UID)
	}
	return got, apierrors.IsNotFound(gone), err
}

func TestClaimsOfNodesThatHaveLeft(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*claimed)
		owners  []types.UID
		deleted bool
		want    []types.UID
	}{
		{"one that the Redis owns is deleted", func(*claimed) {}, []types.UID{"redis"}, true, nil},
		{"one that was left with Retain stays", func(*claimed) {}, nil, false, nil},
		{"with Retain it is no longer owned", func(c *claimed) { c.Spec.Storage.Retention = cachev1alpha1.RedisRetain },
			[]types.UID{"redis", "set"}, false, nil},
		{"a StatefulSet that still has a pod of it keeps it", func(c *claimed) { *c.set.Spec.Replicas = 3 }, []types.UID{"redis"}, false,
			[]types.UID{"redis"}},
		{"a StatefulSet whose controller has not seen its size keeps it", func(c *claimed) { c.set.Generation = 2 }, []types.UID{"redis"}, false,
			[]types.UID{"redis"}},
		{"a StatefulSet that still owns claims by its policy keeps it", func(c *claimed) {
			c.set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		}, []types.UID{"redis", "set"}, false, []types.UID{"redis", "set"}},
		{"a master in doubt keeps it", func(c *claimed) { fixture.MakeSilent(&c.Nodes[0]) }, []types.UID{"redis"}, false, []types.UID{"redis"}},
		{"a node that is wanted is owned", func(c *claimed) { *c.Spec.Size = 3 }, []types.UID{"set"}, false, []types.UID{"redis"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			redis := newClaimed()
			c.arrange(redis)
			if got, deleted, err := redis.settle(t, c.owners...); err != nil || deleted != c.deleted || !slices.Equal(got, c.want) {
				t.Errorf("deleted: %t, owners %v, %v", deleted, got, err)
			}
		})
	}
}

func TestRetentionIsReadAgainBeforeAClaimIsDeleted(t *testing.T) {
	redis := newClaimed()
	redis.live = func(live *cachev1alpha1.Redis) { live.Spec.Storage.Retention = cachev1alpha1.RedisRetain }
	if _, deleted, err := redis.settle(t, "redis"); deleted || !apierrors.IsConflict(err) {
		t.Errorf("deleted: %t, %v", deleted, err)
	}
}
