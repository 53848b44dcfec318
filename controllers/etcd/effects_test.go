package etcd

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// A pass in which the record could not be saved must not continue: a pod would be permitted to start by what no record holds.
func TestWhatWasNotSavedIsKnown(t *testing.T) {
	var refusal error
	a := &apiEffects{saveStatus: func(context.Context) error { return refusal }}
	for _, err := range []error{nil, errors.New("conflict"), nil} {
		if refusal = err; !errors.Is(a.Save(t.Context()), err) || a.unconfirmed != (err != nil) {
			t.Errorf("saved with %v: unconfirmed is %t", err, a.unconfirmed)
		}
	}
}

// What the budget does not spare stays, and is asked for again; what it spares is taken for gone before the cache says so.
func TestAPodIsEvictedOnlyIfTheBudgetSparesIt(t *testing.T) {
	for _, spares := range []bool{false, true} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a-2", UID: "p2"}}
		asked := types.UID("")
		api := fake.NewClientBuilder().WithObjects(&pod).WithInterceptorFuncs(interceptor.Funcs{SubResourceCreate: func(_ context.Context,
			_ ctrlclient.Client,
			subresource string, of, eviction ctrlclient.Object, _ ...ctrlclient.SubResourceCreateOption) error {
			asked = *eviction.(*policyv1.Eviction).DeleteOptions.Preconditions.UID
			if subresource != "eviction" || of.GetName() != "a-2" {
				t.Errorf("%s of %s", subresource, of.GetName())
			}
			if !spares {
				return apierrors.NewTooManyRequests("the budget", 0)
			}
			return nil
		}}).Build()
		a := effectsOn(api, builders.EtcdCluster("a").Build(), pod)
		if err := a.EvictPod(t.Context(), "a-2"); errors.Is(err, fleet.ErrNoDisruptionAllowed) == spares {
			t.Errorf("the budget spares it: %t, and the answer is %v", spares, err)
		}
		if asked != "p2" || a.known.deleted.has("p2", time.Unix(0, 0)) != spares {
			t.Errorf("pod %q was asked for, and it is taken for gone: %t", asked, !spares)
		}
	}
}

// A claim says that it has data before a member starts on it, and only the claim that was looked at.
func TestAClaimShowsThatItHasData(t *testing.T) {
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-a-0", UID: "c0"}}
	api := fake.NewClientBuilder().WithObjects(&claim).Build()
	e := builders.EtcdCluster("a").Storage("1Gi").Build()
	e.Namespace = claim.Namespace
	e.Status.Membership = &databasev1alpha1.EtcdMembership{Token: "t"}
	a := effectsOn(api, e)
	a.in.claims = map[string]*corev1.PersistentVolumeClaim{"a-0": claim.DeepCopy()}
	has := func() string {
		t.Helper()
		if err := api.Get(t.Context(), ctrlclient.ObjectKeyFromObject(&claim), &claim); err != nil {
			t.Fatal(err)
		}
		return a.claimsIn(map[string]*corev1.PersistentVolumeClaim{"a-0": &claim})[0].Data
	}
	if err := a.WritePermit(t.Context(), "a-0", "permit", "former"); err == nil || has() != "" {
		t.Errorf("another claim: %v, %v", err, has())
	}
	if err := a.WritePermit(t.Context(), "a-0", "permit", "c0"); err != nil || has() != "t" {
		t.Errorf("%v, %v", err, has())
	}
}

// The cache may be behind at a claim that somebody has deleted, and its pod may be all that keeps the data.
func TestAClaimIsConfirmedByTheAPIServer(t *testing.T) {
	going := metav1.Unix(0, 0)
	for _, c := range []struct {
		name  string
		claim metav1.ObjectMeta
		err   error // of the API server
		stays bool
	}{
		{"the claim stays", metav1.ObjectMeta{Name: "data-a-0", UID: "c0"}, nil, true},
		{"somebody has deleted the claim", metav1.ObjectMeta{Name: "data-a-0", UID: "c0", DeletionTimestamp: &going,
			Finalizers: []string{"kubernetes.io/pvc-protection"}}, nil, false},
		{"the claim is gone", metav1.ObjectMeta{Name: "data-a-1", UID: "c0"}, nil, false},
		{"another claim is in its place", metav1.ObjectMeta{Name: "data-a-0", UID: "c1"}, nil, false},
		{"the API server does not reply", metav1.ObjectMeta{Name: "data-a-0", UID: "c0"}, errors.New("no reply"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := builders.EtcdCluster("a").Storage("1Gi").Build()
			c.claim.Namespace, e.Namespace = "default", "default"
			api := fake.NewClientBuilder().WithObjects(&corev1.PersistentVolumeClaim{ObjectMeta: c.claim}).WithInterceptorFuncs(
				interceptor.Funcs{Get: func(ctx context.Context, api ctrlclient.WithWatch, key ctrlclient.ObjectKey, obj ctrlclient.Object,
					o ...ctrlclient.GetOption) error {
					if c.err != nil {
						return c.err
					}
					return api.Get(ctx, key, obj, o...)
				}}).Build()
			err := effectsOn(api, e).ConfirmClaim(t.Context(), "a-0", "c0")
			if c.stays != (err == nil) || errors.Is(err, fleet.ErrClaimGoes) != (!c.stays && c.err == nil) {
				t.Errorf("got %v", err)
			}
		})
	}
}
