package etcd

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var (
	ofSet    = metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "a", UID: "set", Controller: ptr.To(true)}
	ofEtcd   = metav1.OwnerReference{APIVersion: "database.mainstay-operator.io/v1alpha1", Kind: "EtcdCluster", Name: "a", UID: "etcd"}
	ofPerson = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "person"}
)

// claimed is an EtcdCluster with a claim in the place a-1, and what a pass sees. Its member is removed.
type claimed struct {
	e     *databasev1alpha1.EtcdCluster
	world membership.World
	set   appsv1.StatefulSet
	claim corev1.PersistentVolumeClaim
	lost  *membership.Step
	live  func(*databasev1alpha1.EtcdCluster) // what has changed since the cache was filled
}

func newClaimed(owners ...metav1.OwnerReference) *claimed {
	c := &claimed{e: builders.EtcdCluster("a").Storage("1Gi").Build(), world: membership.World{Listed: true}}
	c.e.Namespace, c.e.UID, c.e.ResourceVersion, c.e.Spec.Storage.Retention = "default", "etcd", "7", databasev1alpha1.EtcdDelete
	c.e.Status.Membership = &databasev1alpha1.EtcdMembership{Token: "t", ClusterID: "c",
		Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0"}}}
	c.claim = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-a-1", UID: "claim",
		Annotations: map[string]string{config.AnnotationData: "t"}, OwnerReferences: owners}}
	return c
}

// join records the member a-1.
func (c *claimed) join() {
	c.e.Status.Membership.Members = append(c.e.Status.Membership.Members, databasev1alpha1.EtcdRecordedMember{Name: "a-1"})
}

// settle runs what a pass does to claims, and returns the owners of the claim; nil if it is deleted.
func (c *claimed) settle(t *testing.T) (owners []types.UID, deleted bool) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), databasev1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	live := c.e.DeepCopy()
	if c.live != nil {
		live.ResourceVersion = "8"
		c.live(live)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&c.claim, live).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, api ctrlclient.WithWatch, obj ctrlclient.Object, options ...ctrlclient.DeleteOption) error {
			o := (&ctrlclient.DeleteOptions{}).ApplyOptions(options)
			if o.Preconditions == nil || ptr.Deref(o.Preconditions.UID, "") != "claim" || ptr.Deref(o.Preconditions.ResourceVersion, "") == "" {
				t.Error("a claim is deleted by its name alone")
			}
			return api.Delete(ctx, obj)
		}}).Build()
	seen := c.claim.DeepCopy()
	if err := api.Get(t.Context(), ctrlclient.ObjectKeyFromObject(seen), seen); err != nil {
		t.Fatal(err)
	}
	o := objectAt(time.Unix(0, 0), c.e)
	o.Converger = converge.Converger{Client: api, APIReader: api}
	o.in = inputs{claims: map[string]*corev1.PersistentVolumeClaim{"a-1": seen}, lost: c.lost}
	situation := membership.Situation{Status: &c.e.Status, World: c.world}
	if err := o.settleClaims(t.Context(), situation, &c.set); err != nil && !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	err := api.Get(t.Context(), ctrlclient.ObjectKeyFromObject(seen), seen)
	for _, owner := range seen.OwnerReferences {
		owners = append(owners, owner.UID)
	}
	return owners, apierrors.IsNotFound(err)
}

func TestOwnersOfClaims(t *testing.T) {
	for _, c := range []struct {
		name    string
		claim   *claimed
		arrange func(*claimed)
		want    []types.UID
	}{
		{"with Delete it is deleted with the EtcdCluster", newClaimed(), (*claimed).join, []types.UID{"etcd"}},
		{"an upgrade from 0.2.0-rc.1 takes it from the StatefulSet", newClaimed(ofSet), (*claimed).join, []types.UID{"etcd"}},
		{"also from a former one, and it leaves other owners", newClaimed(ofPerson, ofSet), (*claimed).join, []types.UID{"person", "etcd"}},
		{"at rest", newClaimed(ofPerson, ofEtcd), (*claimed).join, []types.UID{"person", "etcd"}},
		{"with Retain no one deletes it", newClaimed(ofSet, ofEtcd, ofPerson), func(c *claimed) {
			c.join()
			c.e.Spec.Storage.Retention = databasev1alpha1.EtcdRetain
		}, []types.UID{"person"}},
		{"one that was left with Retain stays with no one", newClaimed(), func(*claimed) {}, nil},
		{"not while the StatefulSet still owns claims by its policy", newClaimed(ofSet), func(c *claimed) {
			c.join()
			c.set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		}, []types.UID{"set"}},
		{"not while it is paused", newClaimed(ofSet), func(c *claimed) { c.join(); c.e.Spec.Paused = true }, []types.UID{"set"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.arrange(c.claim)
			if got, deleted := c.claim.settle(t); deleted || !slices.Equal(got, c.want) {
				t.Errorf("got %v, deleted: %t", got, deleted)
			}
		})
	}
}

// The pass that permits a pod to start has written its claim by then, or has found that the cache is behind. Its owners are set in the same
// pass: the version that the cache had would conflict.
func TestTheClaimOfANewMemberGetsItsOwner(t *testing.T) {
	for name, edit := range map[string]func(*corev1.PersistentVolumeClaim){
		"a member has never started on it":           func(claim *corev1.PersistentVolumeClaim) { claim.Annotations = nil },
		"it is marked already, and the cache is old": func(claim *corev1.PersistentVolumeClaim) {},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaimed()
			c.join()
			api := fake.NewClientBuilder().WithObjects(volumeClaim("a-1", edit)).Build()
			a := effectsOn(api, c.e)
			a.in.claims = map[string]*corev1.PersistentVolumeClaim{"a-1": volumeClaim("a-1", edit, func(claim *corev1.PersistentVolumeClaim) {
				claim.ResourceVersion = "1"
			})}
			if err := a.WritePermit(t.Context(), "a-1", "permit", "claim-a-1"); err != nil {
				t.Fatal(err)
			}
			if err := a.settleClaims(t.Context(), membership.Situation{Status: &c.e.Status, World: c.world}, &c.set); err != nil {
				t.Error(err)
			}
			live := &corev1.PersistentVolumeClaim{}
			if err := api.Get(t.Context(), ctrlclient.ObjectKey{Namespace: "default", Name: "data-a-1"}, live); err != nil ||
				len(live.OwnerReferences) != 1 || live.OwnerReferences[0].UID != "etcd" || live.Annotations[config.AnnotationData] != "t" {
				t.Errorf("%v: %+v", err, live.ObjectMeta)
			}
		})
	}
}

func TestOnlyClaimsOfRemovedMembersAreDeleted(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*claimed)
		want    bool
	}{
		{"the member is removed", func(*claimed) {}, true},
		{"it is recorded", (*claimed).join, false},
		{"another has a higher place, so a pod is to come", func(c *claimed) { c.e.Status.Membership.Members[0].Name = "a-2" }, false},
		{"etcd lists it", func(c *claimed) {
			c.world.Members = []membership.Member{{Name: "a-1", Listed: &membership.ListedMember{}}}
		}, false},
		{"volumes are retained", func(c *claimed) { c.e.Spec.Storage.Retention = databasev1alpha1.EtcdRetain }, false},
		{"they were when it was left", func(c *claimed) { c.claim.OwnerReferences = nil }, false},
		{"the record is gone", func(c *claimed) { c.e.Status.Membership = nil }, false},
		{"the API server has Retain by now", func(c *claimed) {
			c.live = func(live *databasev1alpha1.EtcdCluster) { live.Spec.Storage.Retention = databasev1alpha1.EtcdRetain }
		}, false},
		{"the API server has another record by now", func(c *claimed) {
			c.live = func(live *databasev1alpha1.EtcdCluster) {
				live.Status.Membership.Members = append(live.Status.Membership.Members, databasev1alpha1.EtcdRecordedMember{Name: "a-1"})
			}
		}, false},
		{"the API server has another EtcdCluster of the name by now", func(c *claimed) {
			c.live = func(live *databasev1alpha1.EtcdCluster) { live.UID, live.ResourceVersion = "another", "7" }
		}, false},
		{"nothing may be written", func(c *claimed) { c.lost = &membership.Step{} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim := newClaimed(ofEtcd)
			c.arrange(claim)
			if _, deleted := claim.settle(t); deleted != c.want {
				t.Errorf("deleted: %t", deleted)
			}
		})
	}
}
