package controllers

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// maxKept bounds, in bytes of its encoding, an object that the cache keeps whole. The largest of ours that the tests make
// has a fifth of it. An object may have 1.5 MiB, and 500 of them must not fill the manager's 512 MiB.
const maxKept = 32 << 10

// Bounds, in bytes, of the texts of a reference to a controller: those of Kubernetes' names.
const (
	maxName       = 253
	maxAPIVersion = maxName + len("/") + 63
)

// ownPrefix starts the names of the operator's own annotations.
const ownPrefix = "mainstay-operator.io/"

// strip removes from an object what no kind reads, before the cache keeps it. What it returns is bounded, but for objects of
// the operator's own kinds, which their schema bounds. Stripping twice is stripping once.
func strip(in any) any {
	obj, is := in.(client.Object)
	if !is { // such as the last state of an object whose end was missed
		return in
	}
	obj.SetManagedFields(nil)
	switch {
	case isBare(obj):
		return identity(obj, converge.AppliedAnnotation)
	case isOwnKind(obj):
		delete(obj.GetAnnotations(), corev1.LastAppliedConfigAnnotation) // kubectl's copy of the spec
		return obj
	case obj.GetLabels()[parts.LabelManagedBy] != parts.ManagedBy:
		return stripForeign(obj)
	}
	pod, isPod := obj.(*corev1.Pod)
	if isPod {
		keepWhatIsReadOfPods(pod)
	}
	switch {
	case encodedSize(obj) <= maxKept:
		return obj
	case isPod:
		return trimPod(pod)
	}
	return trim(obj)
}

// stripForeign returns what is kept of an object without our label: enough to refuse its name. One that a kind of ours controls
// has lost its label, or is forged. What runs is then read live, or its template would be made from nothing and replace all pods.
func stripForeign(obj client.Object) client.Object {
	kept := identity(obj)
	if ref := metav1.GetControllerOf(kept); ref != nil && isOwnGroup(ref.APIVersion) {
		kept.SetAnnotations(map[string]string{converge.TrimmedAnnotation: "true"})
	}
	return kept
}

func isOwnGroup(apiVersion string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return strings.HasSuffix(group, "."+strings.TrimSuffix(ownPrefix, "/"))
}

func isBare(obj client.Object) bool { _, is := obj.(*metav1.PartialObjectMetadata); return is }

func isOwnKind(obj client.Object) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return reflect.TypeOf(k.object) == reflect.TypeOf(obj) })
}

// encodedSize is the object's length in protobuf; in JSON for a type that has no protobuf.
func encodedSize(obj client.Object) int {
	if sized, is := obj.(interface{ Size() int }); is {
		return sized.Size()
	}
	encoded, _ := json.Marshal(obj) // unstructured objects came from JSON
	return len(encoded)
}

// trim returns what lists need of an object that is too large to be kept. A Get by its name reads the rest live (converge.WithTrimmedRead).
func trim(obj client.Object) client.Object {
	kept := identity(obj, converge.AppliedAnnotation, "deployment.kubernetes.io/revision")
	labels := map[string]string{}
	for _, key := range []string{parts.LabelManagedBy, parts.LabelName, parts.LabelInstance} {
		if value, has := obj.GetLabels()[key]; has {
			labels[key] = value
		}
	}
	kept.SetLabels(labels)
	kept.SetAnnotations(parts.Merge(kept.GetAnnotations(), map[string]string{converge.TrimmedAnnotation: "true"}))
	return kept
}

// identity returns an object of the same type that says which it is, since when it is being deleted and who controls it, and
// has those of the annotations that are short.
func identity(obj client.Object, annotations ...string) client.Object {
	bare := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	bare.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	bare.SetNamespace(obj.GetNamespace())
	bare.SetName(obj.GetName())
	bare.SetUID(obj.GetUID())
	bare.SetResourceVersion(obj.GetResourceVersion())
	bare.SetGeneration(obj.GetGeneration())
	bare.SetDeletionTimestamp(obj.GetDeletionTimestamp())
	bare.SetDeletionGracePeriodSeconds(obj.GetDeletionGracePeriodSeconds())
	bare.SetOwnerReferences(controllerOf(obj))
	kept := map[string]string{}
	for _, key := range annotations {
		if value := obj.GetAnnotations()[key]; value != "" && len(value) <= maxName {
			kept[key] = value
		}
	}
	if len(kept) > 0 {
		bare.SetAnnotations(kept)
	}
	return bare
}

// controllerOf returns the reference to the object's controller, if that can be one; anybody can set it.
func controllerOf(obj metav1.Object) []metav1.OwnerReference {
	ref := metav1.GetControllerOf(obj)
	if ref == nil || len(ref.Name) > maxName || len(ref.Kind) > maxName || len(ref.UID) > maxName || len(ref.APIVersion) > maxAPIVersion {
		return nil
	}
	return []metav1.OwnerReference{*ref}
}
