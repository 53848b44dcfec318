package redis

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// getSource returns the pod that serves a backup, nil when there is none. A pod that is not this object's is none: it is refused
// when ours would take its place.
func (r *Reconciler) getSource(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec) (*topology.Source, error) {
	if redis.Status.Restore == nil { // which is saved before a pod is made
		return nil, nil
	}
	var pod corev1.Pod
	err := r.Get(ctx, ctrlclient.ObjectKey{Namespace: spec.Namespace, Name: spec.RestoreName()}, &pod)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(&pod, redis) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading pod %q: %w", spec.RestoreName(), err)
	}
	return r.sourceFromPod(&pod), nil
}

// sourceFromPod reads what has become of the pod. What its containers say is hostile.
func (r *Reconciler) sourceFromPod(pod *corev1.Pod) *topology.Source {
	source := &topology.Source{Node: topology.Node{Name: pod.Name, PodUID: pod.UID, Address: pod.Status.PodIP, Deleting: !pod.DeletionTimestamp.IsZero()}}
	source.Wait = conditions.FirstFailure([]corev1.Pod{*pod})
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	for _, c := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		t := c.State.Terminated
		if t == nil || c.Name != backup.CommandFetch && c.Name != restoreContainer { // others are none of ours, and may end
			continue
		}
		if c.Name == backup.CommandFetch {
			if result := backup.ReadFetch(*t); result.Item != nil {
				source.Item, source.Warning = result.Item.Name, result.Warning
				continue
			}
		}
		source.Failure, source.SinceFailure = describeEnd(c.Name, t), max(0, r.clock.Since(t.FinishedAt.Time))
	}
	if ended && source.Failure == "" { // evicted, say: no container tells why
		source.Failure = "the pod " + pod.Name + " has ended: " + untrusted.Sanitize(pod.Status.Reason+" "+pod.Status.Message)
		source.SinceFailure = max(0, r.clock.Since(pod.CreationTimestamp.Time))
	}
	return source
}

// describeEnd tells why a container has ended, in its own words.
func describeEnd(container string, t *corev1.ContainerStateTerminated) string {
	if container == backup.CommandFetch {
		return backup.ReadFetch(*t).Error
	}
	return fmt.Sprintf("the server that reads it ended with code %d (%s): %s", t.ExitCode, untrusted.Sanitize(t.Reason), untrusted.Sanitize(t.Message))
}

func (c *apiEffects) createSource(ctx context.Context) error {
	pod := restorePod(c.redis, c.fleet.spec, c.image(c.redis, c.fleet.spec.Flavor, c.set), c.OperatorImage, runningVersion(c.fleet.World))
	pod.Namespace = c.redis.Namespace
	if err := ctrl.SetControllerReference(c.redis, pod, c.Scheme()); err != nil {
		return err
	}
	return c.CreateOnce(ctx, "Pod", c.redis, pod, &corev1.Pod{})
}

func (c *apiEffects) deleteSource(ctx context.Context) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.redis.Namespace, Name: c.fleet.Source.Name}}
	return ctrlclient.IgnoreNotFound(c.Delete(ctx, pod, ctrlclient.Preconditions{UID: &c.fleet.Source.PodUID}))
}

// runningVersion is that of the servers, which have the image that is to load the backup.
func runningVersion(w topology.World) string {
	for _, m := range w.Where(topology.Node.Answers) {
		if m.Version != "" {
			return m.Version
		}
	}
	return ""
}
