package children

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// keptInputs are those that the releases are kept with.
func keptInputs(e *databasev1alpha1.EtcdCluster) Inputs {
	version := membership.Version{Minor: 6, Patch: 16}
	spec := config.Resolve(e, &appsv1.StatefulSet{}, nil)
	spec.VolumeSize = resource.Quantity{}
	return Inputs{Cluster: e, Spec: spec, Image: "etcd:v" + version.String(), LauncherImage: "operator", Version: version,
		InitialVersion: version.String(), Pods: 3}
}

func TestNewDefaultsRollNothing(t *testing.T) {
	releases.Defaults(t, "EtcdCluster", func(e *databasev1alpha1.EtcdCluster) { e.Spec.PodLabels = map[string]string{"changed": "1"} },
		func(e *databasev1alpha1.EtcdCluster, live corev1.PodTemplateSpec, pods []corev1.Pod, noPods bool) bool {
			return ChooseDefaults(keptInputs(e), converge.Workload{Template: live, Pods: pods, NoPods: noPods}) == parts.CurrentDefaults
		})
}

// The launcher has limits, too: it is a container that no field of the spec is about, and a quota may ask for them.
func TestEachContainerHasResources(t *testing.T) {
	releases.Resources(t, "EtcdCluster", func(c string) bool { return c == "launcher" }, func(e *databasev1alpha1.EtcdCluster) corev1.PodSpec {
		c := keptInputs(e)
		c.Defaults = parts.CurrentDefaults
		return parts.ToApplyConfig[corev1.PodTemplateSpec](statefulSet(c).Spec.Template).Spec
	})
}
