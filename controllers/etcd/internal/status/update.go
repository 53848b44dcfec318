package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// setUpdateAvailable says whether the operator knows a newer patch, or has another image for the same one, and how to move to it.
// It says nothing about an object that names its patch or its image.
func setUpdateAvailable(list *[]metav1.Condition, in Inputs) {
	if in.Cluster.Status.Membership == nil {
		return // nothing runs
	}
	chosen := in.Cluster.Spec.Image
	if membership.IsExact(in.Cluster.Spec.Version) {
		chosen = in.Cluster.Status.TargetImage
	}
	latest, image := in.Situation.Update()
	how := conditions.BySettingImage
	if latest.String() != in.Cluster.Status.TargetVersion {
		how = fmt.Sprintf("set spec.version to %q", latest)
	}
	conditions.SetUpdateAvailable(list, in.Cluster.Generation, in.Cluster.Status.TargetImage, chosen, image, how)
}
