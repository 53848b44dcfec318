package etcd

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// keptInputs are those that the releases are kept with.
func keptInputs(e *databasev1alpha1.EtcdCluster) childInputs {
	version := membership.Version{Minor: 6, Patch: 16}
	return childInputs{spec: resolve(e, nil), image: "etcd:v" + version.String(), launcherImage: "operator", version: version,
		initialVersion: version.String(), pods: 3}
}

func TestNewDefaultsRollNothing(t *testing.T) {
	releases.Defaults(t, "EtcdCluster", func(e *databasev1alpha1.EtcdCluster) { e.Spec.PodLabels = map[string]string{"changed": "1"} },
		func(e *databasev1alpha1.EtcdCluster, live corev1.PodTemplateSpec, pods []corev1.Pod, noPods bool) bool {
			return chooseDefaults(e, keptInputs(e), converge.Workload{Template: live, Pods: pods, NoPods: noPods}) == parts.CurrentDefaults
		})
}

// The launcher has limits, too: it is a container that no field of the spec is about, and a quota may ask for them.
func TestEachContainerHasResources(t *testing.T) {
	releases.Resources(t, "EtcdCluster", func(c string) bool { return c == "launcher" }, func(e *databasev1alpha1.EtcdCluster) corev1.PodSpec {
		c := keptInputs(e)
		c.defaults = parts.CurrentDefaults
		return parts.ToApplyConfig[corev1.PodTemplateSpec](statefulSet(e, c).Spec.Template).Spec
	})
}
