// Package v1alpha1 is the API of the database group: EtcdCluster, EtcdBackup and EtcdRestore.
//
// +kubebuilder:object:generate=true
// +groupName=database.mainstay-operator.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion of the kinds in this package.
	GroupVersion = schema.GroupVersion{Group: "database.mainstay-operator.io", Version: "v1alpha1"}

	// SchemeBuilder gathers the kinds; each registers itself next to its types.
	SchemeBuilder runtime.SchemeBuilder

	// AddToScheme adds the kinds to a scheme.
	AddToScheme = func(scheme *runtime.Scheme) error { return SchemeBuilder.AddToScheme(scheme) }
)

func register(objects ...runtime.Object) {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(GroupVersion, objects...)
		metav1.AddToGroupVersion(scheme, GroupVersion)
		return nil
	})
}
