package load

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/samples"
)

const (
	labelInstance = "app.kubernetes.io/instance"
	labelRole     = "mainstay-operator.io/role"
)

// Create creates samples in a namespace.
func Create(ctx context.Context, c client.Client, namespace string, objects []*unstructured.Unstructured) error {
	for _, obj := range objects {
		obj.SetNamespace(namespace)
		if err := c.Create(ctx, obj); err != nil {
			return fmt.Errorf("creating %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
	return nil
}

// Ready returns an error unless each sample is what its spec asks for. It reads the samples again; a claim of a volume is no matter of the
// operator.
func Ready(ctx context.Context, c client.Reader, objects []*unstructured.Unstructured) error {
	var errs []error
	for _, obj := range objects {
		if obj.GetKind() == "PersistentVolumeClaim" {
			continue
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if phase, words := samples.PhaseOf(obj); phase != samples.Ready {
			errs = append(errs, fmt.Errorf("%s %s: %s", obj.GetKind(), obj.GetName(), words))
		}
	}
	return errors.Join(errs...)
}

// Pods returns, by name, which pods the objects of a namespace have, which containers run there, and the role in a Redis. A container that
// was restarted is another. The pod of helm test is none of them.
func Pods(ctx context.Context, c client.Reader, namespace string) (map[string]string, error) {
	var list corev1.PodList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.HasLabels{labelInstance}); err != nil {
		return nil, err
	}
	pods := map[string]string{}
	for _, pod := range list.Items {
		var containers []string
		for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			containers = append(containers, s.Name+" "+s.ContainerID)
		}
		slices.Sort(containers)
		pods[pod.Name] = fmt.Sprintf("%s with %q as %q", pod.UID, containers, pod.Labels[labelRole])
	}
	return pods, nil
}

// epochsOf returns the epoch of each Redis, which counts its masters.
func epochsOf(objects []*unstructured.Unstructured) map[string]int64 {
	epochs := map[string]int64{}
	for _, obj := range objects {
		if obj.GetKind() == "Redis" {
			epochs[obj.GetName()], _, _ = unstructured.NestedInt64(obj.Object, "status", "epoch")
		}
	}
	return epochs
}
