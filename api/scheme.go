// Package api holds the API groups of this operator.
package api

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// AddToScheme adds the types of every group to a scheme. A new group is one line here.
func AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(
		appv1.AddToScheme(scheme),
		cachev1alpha1.AddToScheme(scheme),
		databasev1alpha1.AddToScheme(scheme),
		egov1.AddToScheme(scheme),
	)
}
