package converge

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// setOf gives the cache's copy of a StatefulSet: its controller has seen this generation, and makes pods of the revision "new".
func setOf(o *owner) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: "set", Generation: 2}}
	kind := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Owner"}
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(o, kind)}
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 2, UpdateRevision: "new"}
	return set
}

func TestWhichPodsAreOutdated(t *testing.T) {
	for _, c := range []struct {
		name         string
		lastWrite    int64 // generation of our last write
		observed     int64 // generation that the controller has seen
		revision     string
		old, current bool // whether a pod of the revision "old", or "new", is outdated
	}{
		{"the cache has our last write", 2, 2, "new", true, false},
		{"the operator has just started", 0, 2, "new", true, false},
		{"the cache lags: it is not known what is new", 3, 2, "new", false, false},
		{"the controller lags", 2, 1, "new", false, false},
		{"it was just made", 2, 2, "", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &owner{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "owner"}}
			cached := setOf(o)
			cached.Status.ObservedGeneration, cached.Status.UpdateRevision = c.observed, c.revision
			converger := &Converger{Client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(cached).Build()}
			converger.lastWrites.noteWrite(client.ObjectKeyFromObject(o), childKey("StatefulSet", "a"), lastWrite{generation: c.lastWrite})
			set, err := converger.GetStatefulSet(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for revision, want := range map[string]bool{"old": c.old, "new": c.current} {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}}}
				if got := IsOutdated(pod, set); got != want {
					t.Errorf("a pod of revision %s is outdated: %t", revision, got)
				}
			}
		})
	}
}

func TestAStatefulSetOfAnotherIsNone(t *testing.T) {
	former := &owner{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "former"}}
	for name, objects := range map[string][]client.Object{"there is none": nil, "it is a former owner's": {setOf(former)}} {
		converger := &Converger{Client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()}
		set, err := converger.GetStatefulSet(t.Context(), &owner{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "owner"}})
		if err != nil || set == nil || set.Name != "" {
			t.Errorf("%s: %+v, %v", name, set, err)
		}
	}
}
