package controllers

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// NamespacesFromEnv reads WATCH_NAMESPACE: the namespaces that the operator looks after, comma-separated as OLM writes
// the targets of an OperatorGroup. None means all.
func NamespacesFromEnv() []string {
	return strings.FieldsFunc(os.Getenv("WATCH_NAMESPACE"), func(r rune) bool { return r == ',' || r == ' ' })
}

// CacheOptions bounds what the manager keeps in memory. Of Secrets and ConfigMaps it keeps no content, whosever they are.
// Of pods, volume claims and ReplicaSets it keeps only those that have the operator's label. Of the other types of
// children, it keeps no more of a foreign object than its identity, which is enough to refuse its name. No namespace means
// all.
func CacheOptions(namespaces []string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{parts.LabelManagedBy: parts.ManagedBy})}
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		// A read must not start to watch a type: of Secrets, that would be with all their content.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   ours,
			&corev1.PersistentVolumeClaim{}: ours,
			&appsv1.ReplicaSet{}:            ours,
			&corev1.Secret{}:                {Transform: stripToMetadata},
			&corev1.ConfigMap{}:             {Transform: stripToMetadata},
		},
	}
	for _, child := range Children() {
		switch child.(type) {
		case *corev1.Secret, *corev1.ConfigMap:
		default:
			options.ByObject[child] = cache.ByObject{Transform: stripForeign}
		}
	}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// stripForeign removes everything but the identity from an object that is not ours.
func stripForeign(in any) (any, error) {
	if _, gone := in.(toolscache.DeletedFinalStateUnknown); gone {
		return in, nil
	}
	obj, err := meta.Accessor(in)
	if err != nil {
		return in, nil //nolint:nilerr // not an object: nothing to strip
	}
	obj.SetManagedFields(nil)
	if obj.GetLabels()[parts.LabelManagedBy] == parts.ManagedBy {
		return in, nil
	}
	kept, is := in.(client.Object)
	if !is {
		return in, nil
	}
	bare := reflect.New(reflect.TypeOf(in).Elem()).Interface().(client.Object) // of the same type, and empty
	bare.GetObjectKind().SetGroupVersionKind(kept.GetObjectKind().GroupVersionKind())
	bare.SetNamespace(obj.GetNamespace())
	bare.SetName(obj.GetName())
	bare.SetUID(obj.GetUID())
	bare.SetResourceVersion(obj.GetResourceVersion())
	bare.SetOwnerReferences(obj.GetOwnerReferences())
	return bare, nil
}

// Bounds, in bytes, of what is kept of the texts of a controller's reference: those of Kubernetes' names. Nothing of ours
// has longer ones.
const (
	maxName       = 253
	maxAPIVersion = maxName + len("/") + 63
)

// stripToMetadata removes everything but the identity, who controls it and the hash that we applied it with.
func stripToMetadata(in any) (any, error) {
	switch obj := in.(type) {
	case toolscache.DeletedFinalStateUnknown:
		return in, nil
	case *metav1.PartialObjectMetadata:
		bare := &metav1.PartialObjectMetadata{TypeMeta: obj.TypeMeta}
		bare.Namespace, bare.Name, bare.UID, bare.ResourceVersion = obj.Namespace, obj.Name, obj.UID, obj.ResourceVersion
		bare.DeletionTimestamp, bare.OwnerReferences = obj.DeletionTimestamp, controllerOf(obj)
		if hash := obj.Annotations[converge.AppliedAnnotation]; hash != "" && len(hash) <= maxName {
			bare.Annotations = map[string]string{converge.AppliedAnnotation: hash}
		}
		return bare, nil
	default:
		return nil, fmt.Errorf("want the metadata of an object, got %T", in)
	}
}

// controllerOf returns the reference to the object's controller, if that can be one; anybody can set it.
func controllerOf(obj metav1.Object) []metav1.OwnerReference {
	ref := metav1.GetControllerOf(obj)
	if ref == nil || len(ref.Name) > maxName || len(ref.Kind) > maxName || len(ref.UID) > maxName || len(ref.APIVersion) > maxAPIVersion {
		return nil
	}
	return []metav1.OwnerReference{*ref}
}
