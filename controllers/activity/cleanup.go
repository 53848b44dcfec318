package activity

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// cleanUpPods removes our finalizer from pods whose end is written down, and deletes those that can
// never start. It reads their Activity live: an older one would condemn wrongly.
func (r *Reconciler) cleanUpPods(ctx context.Context, key types.NamespacedName, pods []corev1.Pod) error {
	read := map[string]*egov1.Activity{} // nil where there is none
	for i := range pods {
		name := ownerName(&pods[i], key.Name)
		a, known := read[name]
		var err error
		if !known {
			if a, err = r.getLiveActivity(ctx, types.NamespacedName{Namespace: key.Namespace, Name: name}); err != nil {
				return err
			}
			read[name] = a
		}
		switch verdictFor(a, &pods[i]) {
		case verdictRelease:
			err = once.Patch(ctx, &r.Converger, &pods[i], func(p *corev1.Pod) {
				p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == finalizer })
			})
		case verdictDiscard:
			err = once.Delete(ctx, r, &pods[i])
		case verdictKeep:
		}
		if err != nil {
			return fmt.Errorf("letting pod %q go: %w", pods[i].Name, err)
		}
	}
	return nil
}

// ownerName returns the name of the Activity that made the pod, whatever its labels say.
func ownerName(pod *corev1.Pod, labelled string) string {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.Kind == "Activity" {
		return ref.Name
	}
	return labelled
}

// getLiveActivity reads the Activity as it stands at the API server, and returns nil when it is gone.
func (r *Reconciler) getLiveActivity(ctx context.Context, key types.NamespacedName) (*egov1.Activity, error) {
	var live egov1.Activity
	switch err := r.APIReader.Get(ctx, key, &live); {
	case err == nil:
		return &live, nil
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("reading the Activity live: %w", err)
	}
	return nil, nil
}

// labelAndMark puts our labels and the mark of its start on the current attempt's pod. Without the
// labels no event would report its end to us, nor release it when the Activity is deleted; by the
// mark a second start is recognized.
func (r *Reconciler) labelAndMark(ctx context.Context, a *egov1.Activity, pod *corev1.Pod) error {
	if pod == nil || !hasFinalizer(pod) || pod.UID != currentAttempt(a).PodUID {
		return nil
	}
	ours, mark := parts.Merge(pod.Labels, parts.Labels(appName, a.Name)), startMarkOf(pod)
	if maps.Equal(pod.Labels, ours) && pod.Annotations[annotationStartMark] == mark {
		return nil
	}
	if err := once.Patch(ctx, &r.Converger, pod, func(p *corev1.Pod) {
		p.Labels = ours
		if mark != "" {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotationStartMark, mark)
		}
	}); err != nil {
		return fmt.Errorf("labelling pod %q and marking its start: %w", pod.Name, err)
	}
	return nil
}

// startMarkOf returns the ID of the container that was first seen to run, or "" before that.
func startMarkOf(pod *corev1.Pod) string {
	status := commandStatus(pod)
	if mark := pod.Annotations[annotationStartMark]; mark != "" || status.State.Running == nil || !pod.DeletionTimestamp.IsZero() {
		return mark
	}
	return status.ContainerID
}

// finalize releases the pods of an Activity that is gone or being deleted.
func (r *Reconciler) finalize(ctx context.Context, key types.NamespacedName) error {
	a := &egov1.Activity{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	pods, err := r.ListPods(ctx, a, appName)
	if err != nil {
		return err
	}
	return r.cleanUpPods(ctx, key, slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !hasFinalizer(&p) }))
}

// cleanupCandidates returns the pods that may have to be released or deleted.
func cleanupCandidates(a *egov1.Activity, pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return needsNoCleanup(a, &p) })
}
