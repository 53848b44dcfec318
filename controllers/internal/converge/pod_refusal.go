package converge

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

const (
	// missingGrace is how long a StatefulSet may lack a pod before the API server is asked why: its controller needs some milliseconds.
	missingGrace = 5 * time.Second
	// maxRefusalRecheck bounds the time between two questions, which doubles from missingGrace on. It is how long the end of a cause
	// that sends no event, such as a quota, may stay unnoticed.
	maxRefusalRecheck = time.Minute
	// refusalTimeout bounds a question: a pass must not wait for a slow API server.
	refusalTimeout = time.Second
	// annotationAdmitted is written on a StatefulSet whose pods are admitted again, and has the time.
	annotationAdmitted = "mainstay-operator.io/pods-admitted"
)

// podRefusal is what is known of a StatefulSet that lacks pods.
type podRefusal struct {
	since      time.Time     // when a pod was first missed; zero if no pod is missing
	asked      time.Time     // when the API server was last asked; zero if it was not
	wait       time.Duration // from then until it is asked again
	generation int64         // of the StatefulSet that it was asked about
	message    string        // why pods are refused; empty if they are not, or it is not known
}

// nextQuestion returns when the API server is to be asked about a StatefulSet of that generation.
func (p podRefusal) nextQuestion(generation int64) time.Time {
	if p.asked.IsZero() || p.generation != generation {
		return p.since.Add(missingGrace)
	}
	return p.asked.Add(p.wait)
}

// PodRefusal says why the owner's StatefulSet lacks pods, as CheckPods has found last; "" if nothing is known to refuse them.
func (c *Converger) PodRefusal(owner Object) string {
	known, unlock := c.refusals.Lock(owner)
	defer unlock()
	return known.message
}

// CheckPods finds out why a StatefulSet lacks pods, for PodRefusal, and returns how soon to call it again; 0 is not before the next
// event. A StatefulSet has no condition for it, only events, which its controller repeats seldom. So the API server is asked to
// create the first pod that is missing, as a dry run: a quota, a LimitRange, Pod Security or a webhook refuses that one, too. It asks
// only while pods are missing. When they are admitted again, it wakes the StatefulSet's controller, which may otherwise wait for
// 1000 s until it tries again.
func (c *Converger) CheckPods(ctx context.Context, owner Object, set *appsv1.StatefulSet, pods []corev1.Pod, now time.Time) (time.Duration,
	error) {
	if set.Status.ObservedGeneration != set.Generation {
		return 0, nil // its controller is about to look
	}
	known, unlock := c.refusals.Lock(owner)
	before := *known
	unlock()
	pod := missingPod(set, pods)
	next := podRefusal{}
	if pod != nil {
		next = before
		if next.since.IsZero() {
			next.since = now
		}
		if due := next.nextQuestion(set.Generation); !now.Before(due) {
			next.message = c.askForPod(ctx, pod, next.message)
			next.wait = min(max(2*next.wait, missingGrace), maxRefusalRecheck)
			next.asked, next.generation = now, set.Generation
		}
	}
	known, unlock = c.refusals.Lock(owner)
	*known = next
	unlock()
	if pod == nil {
		return 0, nil
	}
	recheck := next.nextQuestion(set.Generation).Sub(now)
	if before.message != "" && next.message == "" {
		return recheck, c.wakeController(ctx, set, now)
	}
	return recheck, nil
}

// askForPod returns why the API server refuses a pod. If it does not say, because it cannot be reached or a webhook admits no dry runs,
// it returns what was known before.
func (c *Converger) askForPod(ctx context.Context, pod *corev1.Pod, known string) string {
	ctx, cancel := context.WithTimeout(ctx, refusalTimeout)
	defer cancel()
	switch err := c.Create(ctx, pod, client.DryRunAll, client.FieldOwner(FieldManager)); {
	case err == nil, apierrors.IsAlreadyExists(err):
		return ""
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return conditions.RefusalMessage(err.Error(), "spec.resources")
	}
	return known
}

// wakeController changes the StatefulSet, so that its controller looks at it now.
func (c *Converger) wakeController(ctx context.Context, set *appsv1.StatefulSet, now time.Time) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, set.UID, annotationAdmitted, now.UTC().Format(time.RFC3339))
	err := c.Patch(ctx, set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(FieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("waking the StatefulSet's controller: %w", err)
	}
	return nil
}

// missingPod returns the first pod that a StatefulSet lacks, as its controller makes it; nil if it lacks none.
func missingPod(set *appsv1.StatefulSet, pods []corev1.Pod) *corev1.Pod {
	if set.UID == "" || !set.DeletionTimestamp.IsZero() {
		return nil
	}
	for ordinal := range ptr.Deref(set.Spec.Replicas, 1) {
		name := fmt.Sprintf("%s-%d", set.Name, ordinal)
		if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Name == name }) {
			return podOf(set, name)
		}
	}
	return nil
}

func podOf(set *appsv1.StatefulSet, name string) *corev1.Pod {
	template := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace = name, set.Namespace
	for _, claim := range set.Spec.VolumeClaimTemplates {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + name}}})
	}
	return pod
}
