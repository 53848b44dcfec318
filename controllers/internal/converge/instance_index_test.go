package converge

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// Pods and claims of one instance are found by the index; other lists are as they were.
func TestWhatIsListedByInstance(t *testing.T) {
	labelled := func(instance string) map[string]string { return parts.Labels("redis", instance) }
	pod := func(name, instance string) *corev1.Pod {
		p := &corev1.Pod{}
		p.Namespace, p.Name, p.Labels = "ns", name, labelled(instance)
		return p
	}
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name, claim.Labels = "ns", "data-a-0", labelled("a")
	var fields string // that the last list selected
	server := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pod("a-0", "a"), pod("a-1", "a"), pod("b-0", "b"), claim).
		WithIndex(&corev1.Pod{}, instanceIndex, instanceOf).WithIndex(&corev1.PersistentVolumeClaim{}, instanceIndex, instanceOf).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
			opts ...client.ListOption) error {
			asked := (&client.ListOptions{}).ApplyOptions(opts)
			fields = ""
			if asked.FieldSelector != nil {
				fields = asked.FieldSelector.String()
			}
			return c.List(ctx, list, opts...)
		}}).Build()
	c := &Converger{Client: WithInstanceIndex(server)}

	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace("ns"), client.MatchingLabels(parts.SelectorLabels("redis", "a"))); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 2 || fields != instanceIndex+"=a" {
		t.Errorf("%d pods of a, by %q", len(pods.Items), fields)
	}
	claims, err := ListClaims(t.Context(), c, types.NamespacedName{Namespace: "ns", Name: "a"}, "redis", "data")
	if err != nil || len(claims) != 1 || fields != instanceIndex+"=a" {
		t.Errorf("claims of a: %v, %v, by %q", claims, err, fields)
	}
	if err := c.List(t.Context(), &pods, client.InNamespace("ns"), client.MatchingLabels{parts.LabelName: "redis"}); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 3 || fields != "" {
		t.Errorf("%d pods of all, by %q", len(pods.Items), fields)
	}
}
