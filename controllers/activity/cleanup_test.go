package activity

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// Of a large pod, the cache has our finalizer only. A patch that was made from that would remove all others, too.
func TestAFinalizerOfSomebodyElseStaysOnALargePod(t *testing.T) {
	live := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "uid",
		Finalizers: []string{"example.org/theirs", finalizer}}}
	cluster := fake.NewClientBuilder().WithObjects(live).Build()
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		t.Fatal(err)
	}
	cached := live.DeepCopy()
	cached.Annotations, cached.Finalizers = map[string]string{converge.TrimmedAnnotation: "true"}, []string{finalizer}
	r := &Reconciler{Converger: converge.Converger{Client: cluster, APIReader: cluster}}
	err := once.Patch(t.Context(), &r.Converger, cached, func(p *corev1.Pod) {
		p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == finalizer })
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil ||
		!slices.Equal(live.Finalizers, []string{"example.org/theirs"}) {
		t.Errorf("finalizers are %q, %v", live.Finalizers, err)
	}
}
