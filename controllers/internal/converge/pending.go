package converge

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// terminationTimeout of a pod beyond its grace is its node's matter: one that is lost may
	// never say that the pod has ended.
	terminationTimeout = 10 * time.Second
	// pendingRequeue of what is waited for, should nothing tell of it.
	pendingRequeue = time.Second
)

// pendingError is what must happen before a child can be made. It happens by itself.
type pendingError struct{ text string }

func (p *pendingError) Error() string { return p.text }

func isPending(err error) bool {
	var one *pendingError
	return errors.As(err, &one)
}

// isWorkload is true for the types whose pods start at once, with what stands before them.
func isWorkload(kind string) bool { return kind == "StatefulSet" || kind == "Deployment" }

// isPodConfig is true for the types that pods start with.
func isPodConfig(kind string) bool { return kind == "Secret" || kind == "ConfigMap" }

// applyUnlessWorkload leaves the workloads as they are: pods that start now would start with what
// was before, and nothing would replace them again.
func (c *Converger) applyUnlessWorkload(ctx context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (client.Object, error) {
	if isWorkload(want.GetKind()) {
		return nil, &pendingError{"what its pods start with must stand first"}
	}
	return c.apply(ctx, owner, want, live)
}

// checkFormerPods is nil once no pod of a former StatefulSet has a name of the new one's.
// The StatefulSet controller is told nothing of such a pod's end: refused its name it
// tries again at intervals that double up to 1000 s,
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/statefulset/stateful_set.go.
func (c *Converger) checkFormerPods(ctx context.Context, want *unstructured.Unstructured) error {
	selector, _, err := unstructured.NestedStringMap(want.Object, "spec", "selector", "matchLabels")
	if err != nil {
		return err
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(want.GetNamespace()), client.MatchingLabels(selector)); err != nil {
		return fmt.Errorf("listing the pods of a former one: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || owner.Kind != want.GetKind() || owner.Name != want.GetName() {
			continue // whoever has no controller is taken over
		}
		if going := pod.DeletionTimestamp; going == nil || (clock.RealClock{}).Since(going.Time) < terminationTimeout {
			return &pendingError{fmt.Sprintf("pod %q of a former one must end first", pod.Name)}
		}
	}
	return nil
}
