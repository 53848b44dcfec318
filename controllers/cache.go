package controllers

import (
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// NamespacesFromEnv reads WATCH_NAMESPACE: the namespaces that the operator looks after, comma-separated as OLM writes
// the targets of an OperatorGroup. None means all.
func NamespacesFromEnv() []string {
	return strings.FieldsFunc(os.Getenv("WATCH_NAMESPACE"), func(r rune) bool { return r == ',' || r == ' ' })
}

// CacheOptions bounds what the manager keeps in memory. Of pods, volume claims and ReplicaSets it keeps only those that have
// the operator's label, which anybody can set; strip bounds each object. No namespace means all.
func CacheOptions(namespaces []string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{parts.LabelManagedBy: parts.ManagedBy})}
	packer := newPacker()
	options := cache.Options{
		DefaultTransform: packer.pack,
		NewInformer:      packer.newInformer,
		// A read must not start to watch a type: of Secrets, that would be with all their content.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   ours,
			&corev1.PersistentVolumeClaim{}: ours,
			&appsv1.ReplicaSet{}:            ours,
		},
	}
	for _, child := range Children() {
		options.ByObject[child] = cache.ByObject{}
	}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}
