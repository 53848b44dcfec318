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
	// lingering of a pod beyond its grace is its node's matter: one that is lost may
	// never say that the pod has ended.
	lingering = 10 * time.Second
	// recheck of what is waited for, should nothing tell of it.
	recheck = time.Second
)

// pending is what must happen before a child can be made. It happens by itself.
type pending struct{ text string }

func (p *pending) Error() string { return p.text }

func awaited(err error) bool {
	var one *pending
	return errors.As(err, &one)
}

// starts is true for the types whose pods start at once, with what stands before them.
func starts(kind string) bool { return kind == "StatefulSet" || kind == "Deployment" }

// mounted is true for the types that pods start with.
func mounted(kind string) bool { return kind == "Secret" || kind == "ConfigMap" }

// upkeep leaves the workloads as they are: pods that start now would start with what
// was before, and nothing would replace them again.
func (c *Converger) upkeep(ctx context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (client.Object, error) {
	if starts(want.GetKind()) {
		return nil, &pending{"what its pods start with must stand first"}
	}
	return c.apply(ctx, owner, want, live)
}

// vacated is nil once no pod of a former StatefulSet has a name of the new one's.
// The StatefulSet controller is told nothing of such a pod's end: refused its name it
// tries again at intervals that double up to 1000 s,
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/statefulset/stateful_set.go.
func (c *Converger) vacated(ctx context.Context, want *unstructured.Unstructured) error {
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
		if going := pod.DeletionTimestamp; going == nil || (clock.RealClock{}).Since(going.Time) < lingering {
			return &pending{fmt.Sprintf("pod %q of a former one must end first", pod.Name)}
		}
	}
	return nil
}
