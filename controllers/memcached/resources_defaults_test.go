package memcached

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestNewDefaultsRollNothing(t *testing.T) {
	releases.Defaults(t, "Memcached", func(m *cachev1alpha1.Memcached) { m.Spec.PodLabels = map[string]string{"changed": "1"} },
		func(m *cachev1alpha1.Memcached, live corev1.PodTemplateSpec, pods []corev1.Pod, noPods bool) bool {
			image := parts.RunningImage(live.Spec.Containers, appName, image)
			return chooseDefaults(m, inputs{image: image}, converge.Workload{Template: live, Pods: pods, NoPods: noPods},
				converge.Workload{}).defaults == parts.CurrentDefaults
		})
}

func TestEachContainerHasResources(t *testing.T) {
	all := func(string) bool { return true } // a server knows what it needs
	current := inputs{image: image, exporter: "exporter:1", defaults: parts.CurrentDefaults, proxyDefaults: parts.CurrentDefaults}
	releases.Resources(t, "Memcached", all, func(m *cachev1alpha1.Memcached) corev1.PodSpec {
		return parts.ToApplyConfig[corev1.PodTemplateSpec](nodeStatefulSet(m, current).Spec.Template).Spec
	})
	releases.Resources(t, "Memcached", all, func(m *cachev1alpha1.Memcached) corev1.PodSpec {
		if m.Spec.Proxy == nil {
			m.Spec.Proxy = &cachev1alpha1.MemcachedProxy{}
		}
		return parts.ToApplyConfig[corev1.PodTemplateSpec](proxyDeployment(m, current).Spec.Template).Spec
	})
}

// An upgrade must not replace the proxy's pods either: connections through it would end.
func TestTheProxyKeepsItsFormerDefaults(t *testing.T) {
	m := behindProxy(2, nil)
	live := parts.ToApplyConfig[appsv1.Deployment](proxyDeployment(m, minimalInputs))
	ran := []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 1}}}}}
	choose := func(pods []corev1.Pod) parts.Defaults {
		return chooseDefaults(m, minimalInputs, converge.Workload{}, converge.DeploymentWorkload(live, pods)).proxyDefaults
	}
	if choose(ran) != parts.FormerDefaults || choose(nil) != parts.FormerDefaults || choose([]corev1.Pod{{}}) != parts.CurrentDefaults {
		t.Error("pods that ran, or that may have run, get new defaults, or others do not")
	}
	live.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue}}
	if choose(nil) != parts.CurrentDefaults {
		t.Error("pods that are refused get no new defaults")
	}
	live.Status.Conditions, live.Spec.Replicas = nil, ptr.To[int32](0)
	if choose(nil) != parts.CurrentDefaults {
		t.Error("a proxy that is scaled to 0 gets no new defaults")
	}
	m.Spec.Proxy.Resources = parts.Resources("1", "1Gi", "2", "1Gi")
	if choose(ran) != parts.CurrentDefaults {
		t.Error("a change of proxy.resources brings no new defaults")
	}
}
