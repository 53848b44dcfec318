package redis

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// getSource returns the pod that serves a backup, nil when there is none. A pod that is not this object's is none: it is refused
// when ours would take its place.
func (p *pass) getSource(ctx context.Context) (*topology.Source, error) {
	if p.Redis.Status.Restore == nil { // which is saved before a pod is made
		return nil, nil
	}
	var pod corev1.Pod
	err := p.Get(ctx, ctrlclient.ObjectKey{Namespace: p.Spec.Namespace, Name: p.Spec.RestoreName()}, &pod)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(&pod, p.Redis) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading pod %q: %w", p.Spec.RestoreName(), err)
	}
	return sourceFromPod(&pod, p.clock.Now()), nil
}

// sourceFromPod reads what has become of the pod. What its containers say is hostile.
func sourceFromPod(pod *corev1.Pod, now time.Time) *topology.Source {
	source := &topology.Source{Node: topology.Node{Name: pod.Name, PodUID: pod.UID, Address: pod.Status.PodIP,
		Deleting: !pod.DeletionTimestamp.IsZero()}}
	source.Wait = conditions.FirstFailure([]corev1.Pod{*pod})
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	for _, c := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		t := c.State.Terminated
		if t == nil || c.Name != backup.CommandFetch && c.Name != children.RestoreContainer { // others are none of ours, and may end
			continue
		}
		if c.Name == backup.CommandFetch {
			result := backup.ReadFetch(*t)
			if result.Item != nil {
				source.Item, source.Warning, source.Expiry = result.Item.Name, result.Warning, result.ExpiryNote()
				continue
			}
			if result.NodeFull {
				source.SizeWithoutRoom = result.RawSize
			}
		}
		source.Failure, source.SinceFailure = describeEnd(c.Name, t), max(0, now.Sub(t.FinishedAt.Time))
	}
	if ended && source.Failure == "" { // evicted, say: no container says why
		source.Failure = "the pod " + pod.Name + " has ended: " + untrusted.Sanitize(pod.Status.Reason+" "+pod.Status.Message)
		source.SinceFailure = max(0, now.Sub(pod.CreationTimestamp.Time))
	}
	return source
}

// describeEnd says why a container has ended, in its own words.
func describeEnd(container string, t *corev1.ContainerStateTerminated) string {
	if container == backup.CommandFetch {
		return backup.ReadFetch(*t).Error
	}
	return fmt.Sprintf("the server that reads it ended with code %d (%s): %s", t.ExitCode, untrusted.Sanitize(t.Reason),
		untrusted.Sanitize(t.Message))
}

func (a *apiEffects) CreateSource(ctx context.Context) error {
	p := a.pass
	in := children.Inputs{Redis: p.Redis, Spec: p.Spec, Image: p.imageFor(p.Set), BackupSize: p.known.backupSize}
	pod := children.RestorePod(in, p.OperatorImage, runningVersion(p.World))
	pod.Namespace = p.Redis.Namespace
	if err := ctrl.SetControllerReference(p.Redis, pod, p.Scheme()); err != nil {
		return err
	}
	// One pod requests that size. If no node can promise as much, the next pod starts without it: only what is used counts for that one.
	p.known.backupSize = 0
	return p.CreateOnce(ctx, "Pod", p.Redis, pod, &corev1.Pod{})
}

func (a *apiEffects) DeleteSource(ctx context.Context) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.pass.Redis.Namespace, Name: a.pass.Source.Name}}
	if err := a.pass.Delete(ctx, pod, ctrlclient.Preconditions{UID: &a.pass.Source.PodUID}); ctrlclient.IgnoreNotFound(err) != nil {
		return err
	}
	a.pass.known.backupSize = a.pass.Source.SizeWithoutRoom
	return nil
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
