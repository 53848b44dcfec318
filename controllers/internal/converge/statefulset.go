package converge

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GetStatefulSet returns the StatefulSet that has its owner's name, from the cache; empty when there is none or it is not ours.
// While the cache has it as it was before our last write, its status does not count as current: else a pod of the new template
// would look outdated, and be recreated once more.
func (c *Converger) GetStatefulSet(ctx context.Context, owner Object) (*appsv1.StatefulSet, error) {
	set := &appsv1.StatefulSet{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(owner), set); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the StatefulSet: %w", err)
	}
	if !metav1.IsControlledBy(set, owner) { // a former one's, or somebody else's
		return &appsv1.StatefulSet{}, nil
	}
	last := c.lastWrites.get(client.ObjectKeyFromObject(owner), childKey("StatefulSet", set.Name))
	set.SetGeneration(max(set.Generation, last.generation))
	return set, nil
}

// IsOutdated reports whether a pod is of another template than its StatefulSet's. While its controller has not seen the newest
// template, it is not known, and no pod counts as outdated.
func IsOutdated(pod *corev1.Pod, set *appsv1.StatefulSet) bool {
	return knowsLatest(set) && pod.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision
}

// IsOfLatest reports whether a pod is of its StatefulSet's template. Like IsOutdated, it is false while that is not known.
func IsOfLatest(pod *corev1.Pod, set *appsv1.StatefulSet) bool {
	return knowsLatest(set) && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == set.Status.UpdateRevision
}

// knowsLatest reports whether the controller of StatefulSets has seen the newest template.
func knowsLatest(set *appsv1.StatefulSet) bool {
	return set.Status.ObservedGeneration == set.Generation && set.Status.UpdateRevision != ""
}

// OrphanPods deletes the StatefulSet and leaves its pods running. The next pass makes it again, and it adopts them.
func (c *Converger) OrphanPods(ctx context.Context, owner Object, set *appsv1.StatefulSet) error {
	if err := c.Confirm(ctx, owner); err != nil {
		return err
	}
	err := c.Delete(ctx, set, client.Preconditions{UID: &set.UID, ResourceVersion: &set.ResourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationOrphan))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("recreating the StatefulSet for larger volumes: %w", err)
	}
	return nil
}

// TemplateOf is the template of a StatefulSet that is being recreated: its pods still show it.
func TemplateOf(pod *corev1.Pod) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
}
