package fakekube

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workload is what a StatefulSet and a Deployment have in common.
type workload struct {
	owner    client.Object
	replicas int32
	template corev1.PodTemplateSpec
	label    string // of the revision on pods
	prefix   string // of the revision
	name     func(revision string, ordinal int32) string
	claims   []corev1.PersistentVolumeClaim // one of each per pod
	selector map[string]string
	minReady time.Duration
}

func (w workload) revision() string {
	encoded, _ := json.Marshal(w.template)
	sum := sha256.Sum256(encoded)
	return w.prefix + hex.EncodeToString(sum[:4])
}

func (d *Driver) statefulSet(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var set appsv1.StatefulSet
	if err := d.Get(ctx, req.NamespacedName, &set); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !set.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, d.orphanPods(ctx, &set)
	}
	w := workload{
		owner: &set, replicas: ptr.Deref(set.Spec.Replicas, 1), template: set.Spec.Template,
		claims: set.Spec.VolumeClaimTemplates, selector: set.Spec.Selector.MatchLabels,
		label: appsv1.StatefulSetRevisionLabel, prefix: set.Name + "-",
		name: func(_ string, ordinal int32) string { return fmt.Sprintf("%s-%d", set.Name, ordinal) },
	}
	seen, runErr := d.run(ctx, w) // what was seen is reported in any case
	revision := w.revision()
	before := set.DeepCopy()
	set.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation,
		Replicas:           seen.total, ReadyReplicas: seen.ready, AvailableReplicas: seen.ready,
		CurrentReplicas: seen.updated, UpdatedReplicas: seen.updated,
		CurrentRevision: revision, UpdateRevision: revision,
		CollisionCount: set.Status.CollisionCount, Conditions: set.Status.Conditions,
	}
	return ctrl.Result{}, errors.Join(runErr, d.saveStatus(ctx, &set, before))
}

func (d *Driver) deployment(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var deployment appsv1.Deployment
	if err := d.Get(ctx, req.NamespacedName, &deployment); err != nil || !deployment.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	w := workload{
		owner: &deployment, replicas: ptr.Deref(deployment.Spec.Replicas, 1), template: deployment.Spec.Template,
		minReady: time.Duration(deployment.Spec.MinReadySeconds) * time.Second,
		label:    appsv1.DefaultDeploymentUniqueLabelKey,
		name:     func(revision string, n int32) string { return fmt.Sprintf("%s-%s-%d", deployment.Name, revision, n) },
	}
	if err := d.replicaSet(ctx, &deployment, w.revision()); err != nil {
		return ctrl.Result{}, err
	}
	seen, err := d.run(ctx, w)
	if err != nil {
		return ctrl.Result{}, err
	}
	progressing, err := d.progressing(ctx, &deployment)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := deployment.DeepCopy()
	enough := seen.available >= w.replicas
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation,
		Replicas:           seen.total, ReadyReplicas: seen.ready, AvailableReplicas: seen.available, UpdatedReplicas: seen.updated,
		UnavailableReplicas: w.replicas - seen.available,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: truth(enough), Reason: "Driven"},
			progressing,
		},
	}
	return ctrl.Result{}, d.saveStatus(ctx, &deployment, before)
}

type counted struct{ total, updated, ready, available int32 }

// run makes the pods be as many and as new as the workload asks, all at once.
func (d *Driver) run(ctx context.Context, w workload) (counted, error) {
	pods, err := d.podsOf(ctx, w.owner, w.selector)
	if err != nil {
		return counted{}, err
	}
	seen, revision := counted{}, w.revision()
	for ordinal := range w.replicas {
		name := w.name(revision, ordinal)
		pod, exists := pods[name]
		delete(pods, name)
		if exists && pod.Labels[w.label] != revision {
			if err := d.drop(ctx, pod); err != nil {
				return seen, err
			}
			exists = false
		}
		if !exists {
			if pod, err = d.create(ctx, w, name, revision); err != nil {
				return seen, err
			}
		}
		seen.total, seen.updated = seen.total+1, seen.updated+1
		if ready(pod) {
			seen.ready++
		}
		if available(pod, w.minReady) {
			seen.available++
		}
	}
	for _, extra := range pods {
		if err := d.drop(ctx, extra); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// podsOf are the pods that the owner controls. Those of the selector that no one
// controls it takes.
func (d *Driver) podsOf(ctx context.Context, owner client.Object, selector map[string]string) (map[string]*corev1.Pod, error) {
	var list corev1.PodList
	if err := d.live.List(ctx, &list, client.InNamespace(owner.GetNamespace())); err != nil {
		return nil, err
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		if selector != nil && metav1.GetControllerOf(&list.Items[i]) == nil &&
			labels.SelectorFromSet(selector).Matches(labels.Set(list.Items[i].Labels)) {
			if err := d.adopt(ctx, owner, &list.Items[i]); err != nil {
				return nil, err
			}
		}
		if metav1.IsControlledBy(&list.Items[i], owner) {
			pods[list.Items[i].Name] = &list.Items[i]
		}
	}
	return pods, nil
}

func (d *Driver) create(ctx context.Context, w workload, name, revision string) (*corev1.Pod, error) {
	pod := &corev1.Pod{ObjectMeta: *w.template.ObjectMeta.DeepCopy(), Spec: *w.template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = name, w.owner.GetNamespace()
	pod.Labels[w.label] = revision
	gvk, err := d.GroupVersionKindFor(w.owner)
	if err != nil {
		return nil, err
	}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.owner, gvk)}
	if err := d.claim(ctx, w, pod); err != nil {
		return nil, err
	}
	return pod, d.Create(ctx, pod)
}

func (d *Driver) drop(ctx context.Context, obj client.Object) error {
	return client.IgnoreNotFound(d.Delete(ctx, obj, client.GracePeriodSeconds(0), client.Preconditions{UID: ptr.To(obj.GetUID())}))
}

// pod plays the kubelet: what has no gate and no end runs and is ready.
func (d *Driver) pod(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var pod corev1.Pod
	if err := d.Get(ctx, req.NamespacedName, &pod); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := pod.DeepCopy()
	if !pod.DeletionTimestamp.IsZero() || len(pod.Spec.SchedulingGates) > 0 {
		return ctrl.Result{}, nil
	}
	d.kubelet(&pod)
	return ctrl.Result{}, d.saveStatus(ctx, &pod, before)
}

// Run is the Kubelet that most tests want: every pod starts and is ready.
func Run(pod *corev1.Pod) {
	if pod.Status.Phase != "" && pod.Status.Phase != corev1.PodPending {
		return
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP = cmp.Or(pod.Status.PodIP, "127.88.0.9") // where no server answers, on every machine
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image + "@sha256:" + fmt.Sprintf("%x", sha256.Sum256([]byte(c.Image))),
			Ready: true, Started: ptr.To(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// available is true for a pod that has been ready for that long, as it is when the
// Deployment is looked at.
func available(pod *corev1.Pod, long time.Duration) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && !c.LastTransitionTime.Add(long).After(time.Now())
		}
	}
	return false
}

func truth(is bool) corev1.ConditionStatus {
	if is {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}
