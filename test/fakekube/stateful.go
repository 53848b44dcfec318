package fakekube

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// claim gives a pod its volumes: the claims of its name. Those of a class that
// exists are made, and bound at once to volumes of just the size.
func (d *Driver) claim(ctx context.Context, w workload, pod *corev1.Pod) error {
	for _, template := range w.claims {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		claim.Name, claim.Namespace = template.Name+"-"+pod.Name, pod.Namespace
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}})
		err := d.Get(ctx, client.ObjectKey{Name: ptr.Deref(claim.Spec.StorageClassName, "")}, &storagev1.StorageClass{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			err = d.bind(ctx, claim)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if err := d.Create(ctx, claim); err != nil {
		return client.IgnoreAlreadyExists(err) // kept from the pod before
	}
	before := claim.DeepCopy()
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, claim.Spec.Resources.Requests
	return d.saveStatus(ctx, claim, before)
}

// adopt a pod that fits and has no owner.
func (d *Driver) adopt(ctx context.Context, owner client.Object, pod *corev1.Pod) error {
	gvk, err := d.GroupVersionKindFor(owner)
	if err != nil {
		return err
	}
	before := pod.DeepCopy()
	pod.OwnerReferences = append(pod.OwnerReferences, *metav1.NewControllerRef(owner, gvk))
	return d.Patch(ctx, pod, client.MergeFrom(before))
}

// orphanPods is the garbage collector's part in a deletion that spares the pods.
func (d *Driver) orphanPods(ctx context.Context, set *appsv1.StatefulSet) error {
	i := slices.Index(set.Finalizers, metav1.FinalizerOrphanDependents)
	if i < 0 {
		return nil
	}
	pods, err := d.podsOf(ctx, set, nil)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		freed := pod.DeepCopy()
		freed.OwnerReferences = nil
		if err := d.Patch(ctx, freed, client.MergeFrom(pod)); err != nil {
			return err
		}
	}
	let := set.DeepCopy()
	let.Finalizers = slices.Delete(let.Finalizers, i, i+1)
	return client.IgnoreNotFound(d.Patch(ctx, let, client.MergeFrom(set)))
}
