package converge

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// A rollout that was decided on what is left of a large Deployment would be a wrong one.
func TestWhatTheCacheTrimmedIsReadLive(t *testing.T) {
	for _, c := range []struct {
		name         string
		cached, live *appsv1.Deployment
		replicas     int32
	}{
		{"small: the API server is not asked", deploymentOf(1, nil), deploymentOf(2, nil), 1},
		{"trimmed", deploymentOf(1, map[string]string{TrimmedAnnotation: "true"}), deploymentOf(2, nil), 2},
		{"somebody forged the annotation", deploymentOf(2, map[string]string{TrimmedAnnotation: "true"}),
			deploymentOf(2, map[string]string{TrimmedAnnotation: "true"}), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader := WithTrimmedRead(fake.NewClientBuilder().WithObjects(c.cached).Build(), fake.NewClientBuilder().WithObjects(c.live).Build())
			got := &appsv1.Deployment{}
			if err := reader.Get(t.Context(), client.ObjectKeyFromObject(c.cached), got); err != nil {
				t.Fatal(err)
			}
			if *got.Spec.Replicas != c.replicas || len(got.Annotations) != len(c.live.Annotations) {
				t.Errorf("got %d replicas, %v", *got.Spec.Replicas, got.Annotations)
			}
		})
	}
}

func deploymentOf(replicas int32, annotations map[string]string) *appsv1.Deployment {
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas)}}
	d.Namespace, d.Name, d.Annotations = "n", "d", annotations
	return d
}
