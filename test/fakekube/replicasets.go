package fakekube

import (
	"context"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// revisionOf a Deployment and of its ReplicaSets.
const revisionOf = "deployment.kubernetes.io/revision"

// replicaSet makes the one of the Deployment's template, or renumbers it as the
// latest. It stands for the template alone: the pods are the Deployment's own.
func (d *Driver) replicaSet(ctx context.Context, deployment *appsv1.Deployment, revision string) error {
	var sets appsv1.ReplicaSetList
	if err := d.live.List(ctx, &sets, client.InNamespace(deployment.Namespace)); err != nil {
		return err
	}
	name, latest := deployment.Name+"-"+revision, 0
	var found *appsv1.ReplicaSet
	for i := range sets.Items {
		set := &sets.Items[i]
		if !metav1.IsControlledBy(set, deployment) {
			continue
		}
		number, _ := strconv.Atoi(set.Annotations[revisionOf])
		if latest = max(latest, number); set.Name == name {
			found = set
		}
	}
	number := strconv.Itoa(latest + 1)
	switch {
	case found == nil:
		set := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: deployment.Spec.Selector.DeepCopy(),
			Template: *deployment.Spec.Template.DeepCopy()}}
		set.Namespace, set.Name, set.Annotations = deployment.Namespace, name, map[string]string{revisionOf: number}
		set.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = revision
		set.Spec.Selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = revision
		set.Labels = set.Spec.Template.Labels
		set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
		if err := d.Create(ctx, set); err != nil {
			return err
		}
	case found.Annotations[revisionOf] == strconv.Itoa(latest):
		number = strconv.Itoa(latest)
	default:
		found.Annotations[revisionOf] = number
		if err := d.Update(ctx, found); err != nil {
			return err
		}
	}
	if deployment.Annotations[revisionOf] == number {
		return nil
	}
	before := deployment.DeepCopy()
	metav1.SetMetaDataAnnotation(&deployment.ObjectMeta, revisionOf, number)
	return d.Patch(ctx, deployment, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// progressing is what a Deployment says of its rollout. Nothing waits here: what cannot
// be started has exceeded its deadline, and did so at the time of that.
func (d *Driver) progressing(ctx context.Context, deployment *appsv1.Deployment) (appsv1.DeploymentCondition, error) {
	says := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}
	late := time.Duration(ptr.Deref(deployment.Spec.ProgressDeadlineSeconds, 0)) * time.Second
	pods, err := d.podsOf(ctx, deployment, nil)
	for _, pod := range pods {
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Waiting == nil {
				continue
			}
			says.Status, says.Reason = corev1.ConditionFalse, "ProgressDeadlineExceeded"
			if at := metav1.NewTime(pod.CreationTimestamp.Add(late)); says.LastUpdateTime.Before(&at) {
				says.LastUpdateTime = at
			}
		}
	}
	return says, err
}
