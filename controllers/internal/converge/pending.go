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
	// terminationTimeout is how long a pod counts as ending beyond its grace period: a node that is lost may never
	// say that the pod has ended.
	terminationTimeout = 10 * time.Second
	// pendingRequeue is how soon a pass looks again for what it waits for, should no event report it.
	pendingRequeue = time.Second
)

// pendingError is what must happen before a child can be made. It happens by itself.
type pendingError struct{ text string }

func (p *pendingError) Error() string { return p.text }

func isPending(err error) bool {
	var pending *pendingError
	return errors.As(err, &pending)
}

// isWorkload reports whether the pods of this type start at once, with what stands before them.
func isWorkload(kind string) bool { return kind == "StatefulSet" || kind == "Deployment" }

// isPodConfig reports whether pods start with objects of this type.
func isPodConfig(kind string) bool { return kind == "Secret" || kind == "ConfigMap" }

// applyUnlessWorkload applies everything but workloads, which it leaves as they are: pods that start now would start
// with the former configuration, and nothing would replace them again.
func (c *Converger) applyUnlessWorkload(ctx context.Context, owner Object, want *unstructured.Unstructured,
	live client.Object) (client.Object, error) {
	if isWorkload(want.GetKind()) {
		return nil, &pendingError{"a Secret or ConfigMap that its pods start with could not be written yet"}
	}
	return c.apply(ctx, owner, want, live)
}

// checkFormerPods returns nil once no pod of a former StatefulSet has a name of the new one's. Nothing shows the
// StatefulSet controller of the end of such a pod: when it is refused the name, it tries again at intervals that
// double up to 1000 s,
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
			continue // one without a controller is adopted
		}
		if going := pod.DeletionTimestamp; going == nil || (clock.RealClock{}).Since(going.Time) < terminationTimeout {
			return &pendingError{fmt.Sprintf("pod %q of a deleted object of the same name has not ended yet", pod.Name)}
		}
	}
	return nil
}
