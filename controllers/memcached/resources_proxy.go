package memcached

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

const (
	// proxyAppName is the value of app.kubernetes.io/name on the proxy and its pods: the nodes' selectors must not
	// match them.
	proxyAppName = "memcached-proxy"
	proxyDir     = "/etc/memcached-proxy"
	routesKey    = "routes.lua"
	// annotationRoutes rolls the proxy when the list of nodes changes: nothing is lost, since it keeps no items.
	annotationRoutes = "mainstay-operator.io/routes"
	// maxItemsInFlight is how many of the largest items the proxy has memory for at once.
	maxItemsInFlight = 64
)

func hasProxy(m *cachev1alpha1.Memcached) bool { return m.Spec.Proxy != nil && m.Spec.Proxy.Enabled }

func proxyName(m *cachev1alpha1.Memcached) string { return m.Name + "-proxy" }

// proxySize is the number of proxies: 0 where there is no node to lead to.
func proxySize(m *cachev1alpha1.Memcached) int32 {
	if size(m) == 0 {
		return 0
	}
	return ptr.Deref(m.Spec.Proxy.Replicas, 2)
}

// proxyChildren are all children of the proxy. What its pods need to start comes first.
func proxyChildren(m *cachev1alpha1.Memcached, c inputs) []converge.Child {
	labels, selector := parts.Labels(proxyAppName, m.Name), parts.SelectorLabels(proxyAppName, m.Name)
	children := []converge.Child{
		corev1ac.ConfigMap(proxyName(m), "").WithLabels(labels).WithData(map[string]string{routesKey: proxyRoutes(m)}),
		proxyDeployment(m, c),
		corev1ac.Service(proxyName(m), "").WithLabels(labels).WithSpec(corev1ac.ServiceSpec().
			WithSelector(selector).WithPorts(servicePort(portName, m.Spec.Port))),
	}
	if proxySize(m) >= 2 {
		budget := parts.DisruptionBudget(proxyAppName, m.Name, m.Spec.Disruption, policyv1.AlwaysAllow)
		children = append(children, budget.WithName(proxyName(m)))
	}
	return children
}

// proxyRoutes leads each key to its node by memcached's jump hash, in which a node's place is its ordinal: one more
// node takes an even share of the keys of each, and no other key moves.
// https://docs.memcached.org/features/proxy/
func proxyRoutes(m *cachev1alpha1.Memcached) string {
	var text strings.Builder
	fmt.Fprintln(&text, "settings{ tcp_keepalive = true }")
	fmt.Fprintln(&text, "pools{ nodes = { backends = {")
	for _, server := range servers(m) {
		fmt.Fprintf(&text, "  %q,\n", server)
	}
	fmt.Fprintln(&text, "} } }")
	fmt.Fprintln(&text, `routes{ default = route_direct{ child = "nodes" } }`)
	return text.String()
}

func proxyDeployment(m *cachev1alpha1.Memcached, c inputs) *appsv1ac.DeploymentApplyConfiguration {
	sum := sha256.Sum256([]byte(proxyRoutes(m)))
	template := parts.MarkDefaults(parts.PodTemplate(proxyAppName, m.Name, m.Spec.PodOptions), c.proxyDefaults).
		WithAnnotations(map[string]string{annotationRoutes: hex.EncodeToString(sum[:8])})
	template.Spec.
		WithSecurityContext(parts.RestrictedPod(runAsUID)).
		WithVolumes(corev1ac.Volume().WithName("routes").WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(proxyName(m)))).
		WithContainers(proxyContainer(m, c))
	return appsv1ac.Deployment(proxyName(m), "").
		WithLabels(parts.Labels(proxyAppName, m.Name)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(proxySize(m)).
			WithSelector(parts.LabelSelector(proxyAppName, m.Name)).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxSurge(intstr.FromInt32(1)).WithMaxUnavailable(intstr.FromInt32(0)))).
			WithTemplate(template))
}

func proxyContainer(m *cachev1alpha1.Memcached, c inputs) *corev1ac.ContainerApplyConfiguration {
	args := slices.Concat(limitArguments(m, c.proxyDefaults),
		[]string{"-o", "proxy_config=routelib,proxy_arg=" + path.Join(proxyDir, routesKey)})
	return parts.WithPreStopSleep(memcachedContainer(m, c.image, args, c.proxyDefaults), parts.PreStopSeconds(m.Spec.PodOptions)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("routes").WithMountPath(proxyDir).WithReadOnly(true)).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](proxyResources(m, c.proxyDefaults)))
}

// proxyResources returns those of the spec, and where it says nothing, as much as the proxy needs.
func proxyResources(m *cachev1alpha1.Memcached, d parts.Defaults) corev1.ResourceRequirements {
	needed := memoryOverhead + int64(m.Spec.Connections)*memoryPerConnection +
		maxItemsInFlight*quantityBytes(m.Spec.MaxItemSize, defaultMaxItem)
	r := parts.FillResources(m.Spec.Proxy.Resources, corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(memoryOverhead, resource.BinarySI)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(needed, resource.BinarySI)},
	})
	if d != parts.FormerDefaults {
		r = parts.FillResources(r, cpuDefaults(m))
	}
	return r
}
