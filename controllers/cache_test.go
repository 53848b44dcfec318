package controllers

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

func TestNamespaces(t *testing.T) {
	for watch, want := range map[string][]string{
		"":                nil, // as OLM writes it for AllNamespaces
		"shop":            {"shop"},
		"shop,bank":       {"bank", "shop"},
		" shop, bank, ,":  {"bank", "shop"},
		"shop,shop, shop": {"shop"},
	} {
		t.Setenv("WATCH_NAMESPACE", watch)
		got := CacheOptions(NamespacesFromEnv()).DefaultNamespaces
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
			t.Errorf("%q: %q", watch, names)
		}
		if len(want) == 0 && got != nil {
			t.Errorf("%q: an empty list is none, not all", watch)
		}
	}
}

// Of an object that somebody else made there is its identity, enough to refuse its name, and nothing more.
func TestForeignChildrenAreStripped(t *testing.T) {
	made := func(managedBy string) *corev1.Service {
		s := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.9"}}
		s.Namespace, s.Name, s.UID, s.ResourceVersion = "ns", "a", "uid", "7"
		s.Labels = map[string]string{parts.LabelManagedBy: managedBy}
		s.OwnerReferences = []metav1.OwnerReference{{UID: "owner"}}
		return s
	}
	strip := func(in any) any {
		t.Helper()
		out, err := stripForeign(in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if ours := strip(made(parts.ManagedBy)).(*corev1.Service); ours.Spec.ClusterIP == "" {
		t.Error("what is ours is stripped")
	}
	bare := &corev1.Service{}
	bare.Namespace, bare.Name, bare.UID, bare.ResourceVersion = "ns", "a", "uid", "7"
	bare.OwnerReferences = []metav1.OwnerReference{{UID: "owner"}}
	if got := strip(made("Helm")); !equality.Semantic.DeepEqual(got, bare) {
		t.Errorf("got %+v", got)
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	metadata.Name = "a"
	if got := strip(metadata); !equality.Semantic.DeepEqual(got, metadata) {
		t.Errorf("got %+v", got)
	}
	gone := toolscache.DeletedFinalStateUnknown{Key: "ns/a"}
	if got := strip(gone); got != any(gone) {
		t.Errorf("got %+v", got)
	}
}

// A type of child that a kind comes to make is bounded like the others.
func TestTheCacheBoundsEveryTypeOfChild(t *testing.T) {
	bounded := map[string]bool{}
	for object, by := range CacheOptions(nil).ByObject {
		bounded[fmt.Sprintf("%T", object)] = by.Label != nil || by.Transform != nil
	}
	for _, child := range Children() {
		if !bounded[fmt.Sprintf("%T", child)] {
			t.Errorf("the manager would keep other people's objects of type %T whole", child)
		}
	}
}
