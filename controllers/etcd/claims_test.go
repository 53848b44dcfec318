package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// volumeClaim is the claim of a member of EtcdCluster a.
func volumeClaim(pod string, edits ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-" + pod,
		UID: types.UID("claim-" + pod), Labels: parts.Labels(config.AppName, "a"), Annotations: map[string]string{config.AnnotationData: "t"}}}
	for _, edit := range edits {
		edit(claim)
	}
	return claim
}

// goes marks a claim as one that is being deleted.
func goes(claim *corev1.PersistentVolumeClaim) {
	claim.DeletionTimestamp, claim.Finalizers = ptr.To(metav1.Now()), []string{"kubernetes.io/pvc-protection"}
}

// ofRevision is a stamp of a record.
func ofRevision(revision int64) membership.Stamp {
	return membership.Stamp{Membership: databasev1alpha1.EtcdMembership{Token: "t", ClusterID: "c", Revision: revision,
		Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", DataID: "d0", Ran: true}}}}
}

// stamped writes a stamp on a claim.
func stamped(stamp membership.Stamp) func(*corev1.PersistentVolumeClaim) {
	return func(claim *corev1.PersistentVolumeClaim) {
		claim.Annotations[config.AnnotationRecord] = stamp.For(claim.UID)
	}
}

// A claim that a deleted object owns is about to be deleted, although it does not say so yet: nothing continues from it.
func TestClaimsThatGo(t *testing.T) {
	e := builders.EtcdCluster("a").Storage("1Gi").Build()
	e.UID = "new"
	for _, c := range []struct {
		name string
		edit func(*corev1.PersistentVolumeClaim)
		goes bool
	}{
		{"a claim without an owner", func(*corev1.PersistentVolumeClaim) {}, false},
		{"a claim that is being deleted", goes, true},
		{"a claim of the deleted object", ownedBy(ofEtcd), true},
		{"a claim of the deleted object's StatefulSet", ownedBy(ofSet), true},
		{"a claim of somebody else", ownedBy(ofPerson), false},
		{"a claim of this object", ownedBy(metav1.OwnerReference{Kind: "EtcdCluster", Name: "a", UID: "new"}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := effectsOn(nil, e).object
			o.in.set = &appsv1.StatefulSet{}
			got := o.claimsIn(map[string]*corev1.PersistentVolumeClaim{"a-0": volumeClaim("a-0", c.edit, stamped(ofRevision(3)))})
			if len(got) != 1 || got[0].Goes != c.goes || got[0].Member != "a-0" || got[0].UID != "claim-a-0" || got[0].Data != "t" {
				t.Errorf("got %+v", got)
			}
			if stamp, ok := got[0].ReadStamp(); !ok || stamp.Revision() != 3 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func ownedBy(owner metav1.OwnerReference) func(*corev1.PersistentVolumeClaim) {
	return func(claim *corev1.PersistentVolumeClaim) { claim.OwnerReferences = []metav1.OwnerReference{owner} }
}

// Each claim is stamped once. The cache may be older than the last stamp, which is then neither written again nor overwritten.
func TestClaimsAreStampedOnce(t *testing.T) {
	for _, c := range []struct {
		name         string
		cached, live *corev1.PersistentVolumeClaim // nil for none
		writes       int
		fails        bool
	}{
		{"a claim without a stamp", volumeClaim("a-0"), volumeClaim("a-0"), 1, false},
		{"a claim with an earlier stamp", volumeClaim("a-0", stamped(ofRevision(6))), volumeClaim("a-0", stamped(ofRevision(6))), 1, false},
		{"a claim with the stamp", volumeClaim("a-0", stamped(ofRevision(7))), volumeClaim("a-0", stamped(ofRevision(7))), 0, false},
		{"a claim with the stamp, and the cache is older", volumeClaim("a-0"), volumeClaim("a-0", stamped(ofRevision(7))), 0, false},
		{"a claim with a later stamp, and the cache is older", volumeClaim("a-0"), volumeClaim("a-0", stamped(ofRevision(8))), 0, true},
		{"a claim with the copy of a later stamp", volumeClaim("a-0"), volumeClaim("a-0", func(claim *corev1.PersistentVolumeClaim) {
			claim.Annotations[config.AnnotationRecord] = ofRevision(8).For("another")
		}), 1, false},
		{"a claim that is being deleted", volumeClaim("a-0", goes), volumeClaim("a-0", goes), 0, false},
		{"a claim that is being deleted, and the cache is older", volumeClaim("a-0"), volumeClaim("a-0", goes), 0, false},
		{"a claim that is gone", volumeClaim("a-0"), nil, 0, false},
		{"a claim in the place of another", volumeClaim("a-0"), volumeClaim("a-0", func(claim *corev1.PersistentVolumeClaim) {
			claim.UID = "next"
		}), 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			writes, api := 0, fake.NewClientBuilder()
			if c.live != nil {
				api = api.WithObjects(c.live)
			}
			client := api.WithInterceptorFuncs(interceptor.Funcs{Patch: func(ctx context.Context, to ctrlclient.WithWatch, obj ctrlclient.Object,
				patch ctrlclient.Patch, opts ...ctrlclient.PatchOption) error {
				writes++
				return to.Patch(ctx, obj, patch, opts...)
			}}).Build()
			a := effectsOn(client, builders.EtcdCluster("a").In("default").Storage("1Gi").Build())
			a.in.claims = map[string]*corev1.PersistentVolumeClaim{"a-0": c.cached}
			for range 2 { // the second time there is nothing to do
				if err := a.StampClaims(t.Context(), ofRevision(7)); (err != nil) != c.fails {
					t.Fatal(err)
				}
			}
			if writes != c.writes {
				t.Errorf("%d writes", writes)
			}
			if live := (&corev1.PersistentVolumeClaim{}); c.writes > 0 {
				if err := client.Get(t.Context(), ctrlclient.ObjectKeyFromObject(c.cached), live); err != nil ||
					live.Annotations[config.AnnotationRecord] != ofRevision(7).For(live.UID) || live.Annotations[config.AnnotationData] != "t" ||
					live.ResourceVersion != a.in.claims["a-0"].ResourceVersion {
					t.Errorf("%v: %+v", err, live)
				}
			}
		})
	}
}

// Before the volumes are reused, the claims are read from the API server, whatever the cache has.
func TestClaimsAreReadBeforeTheyAreReused(t *testing.T) {
	client := fake.NewClientBuilder().WithObjects(volumeClaim("a-1"), volumeClaim("a-0", stamped(ofRevision(7)))).Build()
	a := effectsOn(client, builders.EtcdCluster("a").In("default").Storage("1Gi").Build())
	a.in.set = &appsv1.StatefulSet{}
	claims, err := a.ReadClaims(t.Context())
	if err != nil || len(claims) != 2 || claims[0].Name != "data-a-0" || claims[0].Stamp == "" || len(a.in.claims) != 2 {
		t.Errorf("%v: %+v", err, claims)
	}
}

// The pods of a deleted object run for a while. They are no members', and no volume is reused meanwhile.
func TestPodsOfADeletedObject(t *testing.T) {
	pod := func(name string, owners ...metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: parts.Labels(config.AppName, "a"),
			OwnerReferences: owners}}
	}
	present := ofSet
	present.UID = "present"
	client := fake.NewClientBuilder().WithObjects(pod("a-0", ofSet), pod("a-1", present), pod("a-2"), pod("a-helper", ofSet)).Build()
	o := effectsOn(client, builders.EtcdCluster("a").In("default").Storage("1Gi").Build()).object
	o.spec, o.in.set = membership.Spec{Name: "a"}, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "present"}}
	own, former, err := o.listPods(t.Context())
	if err != nil || len(own) != 2 || own[0].Name != "a-1" || !slices.Equal(former, []string{"a-0"}) {
		t.Errorf("%v: %v and %v", err, own, former)
	}
	for _, recorded := range []bool{false, true} {
		o.in.formerPods, o.cluster.Status.Membership = former, nil
		if recorded {
			o.cluster.Status.Membership = &databasev1alpha1.EtcdMembership{}
		}
		if got := o.observe(t.Context()).FormerPods; (len(got) > 0) == recorded {
			t.Errorf("recorded: %t, and %v are former", recorded, got)
		}
	}
}

// If the volumes could not be reused, there is no record: children that are made without one would block those that are made with it.
func TestAPassThatReusesNothingWritesNothing(t *testing.T) {
	refusal := errors.New("refused")
	for _, c := range []struct {
		name   string
		claims []ctrlclient.Object
		list   error
		failed error
	}{
		{"the claims cannot be read", nil, refusal, refusal},
		{"the claims are gone", nil, nil, nil},
		{"the claims are others", []ctrlclient.Object{volumeClaim("a-0")}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := fake.NewClientBuilder().WithObjects(c.claims...).WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context,
				from ctrlclient.WithWatch, list ctrlclient.ObjectList, opts ...ctrlclient.ListOption) error {
				if c.list != nil {
					return c.list
				}
				return from.List(ctx, list, opts...)
			}}).Build()
			e := builders.EtcdCluster("a").In("default").Storage("1Gi").Build()
			a := effectsOn(api, e)
			a.in.set = &appsv1.StatefulSet{}
			p := &pass{object: a.object, effects: a, fleet: &fleet.Fleet{Cluster: e, Effects: a}, step: membership.Step{Do: membership.ReuseVolumes}}
			err := p.act(logr.NewContext(t.Context(), logr.Discard()))
			if err != nil || !p.readsOnly || !errors.Is(p.failed, c.failed) || e.Status.Membership != nil {
				t.Errorf("%v, %v: %s, and it only reads: %t", err, p.failed, p.step, p.readsOnly)
			}
		})
	}
}

// A pass without a record writes nothing but to form a cluster, to fetch its backup, or to reuse volumes.
func TestWhatAPassWithoutARecordChanges(t *testing.T) {
	for _, c := range []struct {
		step    membership.Step
		changes bool
	}{
		{membership.Step{Do: membership.Form}, true},
		{membership.Step{Do: membership.ReuseVolumes}, true},
		{membership.Step{Do: membership.Wait, Fetches: true}, true},
		{membership.Step{Do: membership.Wait}, false},
		{membership.Step{Do: membership.Block}, false},
	} {
		t.Run(fmt.Sprint(c.step.Do, c.step.Fetches), func(t *testing.T) {
			for _, paused := range []bool{false, true} {
				e := builders.EtcdCluster("a").Build()
				e.Spec.Paused = paused
				p := &pass{object: effectsOn(nil, e).object, fleet: &fleet.Fleet{}, step: c.step}
				if p.changesNothing() != (paused || !c.changes) {
					t.Errorf("paused: %t, and it changes nothing: %t", paused, p.changesNothing())
				}
			}
		})
	}
}
