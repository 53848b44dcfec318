package cluster

import (
	"context"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operatorPrefix is what the names of the operator's ClusterRoles and ClusterRoleBindings start with.
const operatorPrefix = "mainstay-operator"

// apiGroupSuffix is that of the groups of the operator's kinds.
const apiGroupSuffix = ".mainstay-operator.io"

// OperatorRights are the operator's ClusterRoles and ClusterRoleBindings, as kind/name.
func OperatorRights(ctx context.Context, c client.Client) ([]string, error) {
	return named(ctx, c, rbacv1.SchemeGroupVersion, []string{"ClusterRole", "ClusterRoleBinding"}, func(name string) bool {
		return strings.HasPrefix(name, operatorPrefix)
	})
}

// CRDs are the operator's custom resource definitions, as kind/name.
func CRDs(ctx context.Context, c client.Client) ([]string, error) {
	return named(ctx, c, schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}, []string{"CustomResourceDefinition"},
		func(name string) bool { return strings.HasSuffix(name, apiGroupSuffix) })
}

// named lists objects of the kinds whose name fits.
func named(ctx context.Context, c client.Client, version schema.GroupVersion, kinds []string, fits func(name string) bool) (
	[]string, error) {
	var found []string
	for _, kind := range kinds {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(version.WithKind(kind + "List"))
		if err := c.List(ctx, &list); err != nil {
			return nil, err
		}
		for _, obj := range list.Items {
			if fits(obj.Name) {
				found = append(found, kind+"/"+obj.Name)
			}
		}
	}
	return found, nil
}
