package memcached

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

const (
	// appName is the value of app.kubernetes.io/name on all children.
	appName = "memcached"
	// portName is the name of memcached's port in pods and Services.
	portName = "memcached"
	// runAsUID is the memcache user of the official image.
	runAsUID = 11211

	// defaultMemory and defaultMaxItem are memcached's own defaults, as the schema has them.
	defaultMemory  = 64 << 20
	defaultMaxItem = 1 << 20

	// tableShare divides the memory: the hash table takes at most 1/tableShare of it, in a cache of the smallest
	// items, which have 96 bytes each (slabs.c). The table holds pointers of 8 bytes and doubles when there are
	// 1.5 items for each (assoc.c): it then takes 10.7 bytes an item, and 16 while the items move, when the old
	// table, half as large, is there too.
	tableShare = 96 / 16
	// memoryOverhead is what a node takes besides items and table: code, threads, and the first page of each slab
	// class, which memcached takes beyond -m.
	memoryOverhead = 64 << 20
	// memoryPerConnection is what a connection's buffers take: 16 KiB for reading, 16 KiB
	// for writing (memcached.h: READ_BUFFER_SIZE, and the response bundle).
	memoryPerConnection = 32 << 10

	// defaultMinReadySeconds is how long a node fills up before the next one is replaced, in seconds.
	defaultMinReadySeconds = 30
)

// inputs is what the children depend on besides the spec.
type inputs struct {
	image             string         // the one that runs is kept when the spec names none
	exporter          string         // the exporter's image, with metrics
	identity          pki.Identity   // of the nodes, with TLS
	users             userList       // that the nodes know, with auth
	operatorNamespace string         // empty where the manager does not run in a pod
	defaults          parts.Defaults // of the nodes' pods
	proxyDefaults     parts.Defaults
}

// desired returns all children. What pods need to start comes before them.
func desired(m *cachev1alpha1.Memcached, c inputs) []converge.Child {
	var children []converge.Child
	if m.Spec.TLS != nil {
		children = append(children, certificatesSecret(m, c.identity))
	}
	if m.Spec.Auth != nil {
		children = append(children, authSecret(m, c.users))
	}
	children = append(children, nodeStatefulSet(m, c), headlessService(m), clientService(m), serversConfigMap(m))
	if size(m) >= 2 {
		children = append(children, budget(m))
	}
	if hasProxy(m) {
		children = append(children, proxyChildren(m, c)...)
	}
	if m.Spec.NetworkPolicy != nil {
		children = append(children, networkPolicies(m, c.operatorNamespace)...)
	}
	if hasMetrics(m) && m.Spec.Metrics.ServiceMonitor != nil {
		children = append(children, serviceMonitor(m))
	}
	return children
}

func size(m *cachev1alpha1.Memcached) int32 { return ptr.Deref(m.Spec.Size, 1) }

func quantityBytes(quantity *resource.Quantity, otherwise int64) int64 {
	if quantity == nil {
		return otherwise
	}
	return quantity.Value()
}

func headlessName(m *cachev1alpha1.Memcached) string { return m.Name + "-headless" }

// servers are the addresses of all nodes, by ordinal.
func servers(m *cachev1alpha1.Memcached) []string {
	list := make([]string, 0, size(m))
	for ordinal := range size(m) {
		list = append(list, fmt.Sprintf("%s-%d.%s.%s.svc:%d", m.Name, ordinal, headlessName(m), m.Namespace, m.Spec.Port))
	}
	return list
}

// endpoint is the address for an application that knows only one.
func endpoint(m *cachev1alpha1.Memcached) string {
	if hasProxy(m) {
		return fmt.Sprintf("%s.%s.svc:%d", proxyName(m), m.Namespace, m.Spec.Port)
	}
	return fmt.Sprintf("%s:%d", serviceHost(m), m.Spec.Port)
}

// nodeStatefulSet runs the nodes. It is a StatefulSet, so that a node keeps its name when its pod is replaced and the
// hash ring of the clients stays.
func nodeStatefulSet(m *cachev1alpha1.Memcached, c inputs) *appsv1ac.StatefulSetApplyConfiguration {
	template := parts.MarkDefaults(parts.PodTemplate(appName, m.Name, m.Spec.PodOptions), c.defaults)
	template.Spec.
		WithSecurityContext(parts.RestrictedPod(runAsUID)).
		WithContainers(nodeContainer(m, c))
	if m.Spec.TLS != nil {
		withTLS(m, c.identity, template)
	}
	if m.Spec.Auth != nil {
		withUsers(m, c.users, template)
	}
	if hasMetrics(m) {
		withExporter(m, c, template)
	}
	return appsv1ac.StatefulSet(m.Name, "").
		WithLabels(parts.Labels(appName, m.Name)).
		WithSpec(appsv1ac.StatefulSetSpec().
			WithReplicas(size(m)).
			WithMinReadySeconds(minReadySeconds(m)).
			WithServiceName(headlessName(m)).
			WithPodManagementPolicy(appsv1.ParallelPodManagement).
			WithSelector(parts.LabelSelector(appName, m.Name)).
			WithTemplate(template))
}

// minReadySeconds is how long a rollout pauses between nodes, in seconds.
func minReadySeconds(m *cachev1alpha1.Memcached) int32 {
	if m.Spec.Rollout == nil {
		return defaultMinReadySeconds
	}
	return ptr.Deref(m.Spec.Rollout.MinReadySeconds, defaultMinReadySeconds)
}

func nodeContainer(m *cachev1alpha1.Memcached, c inputs) *corev1ac.ContainerApplyConfiguration {
	return parts.WithPreStopSleep(memcachedContainer(m, c.image, arguments(m, c.defaults), c.defaults),
		parts.PreStopSeconds(m.Spec.PodOptions)).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](resources(m, c.defaults)))
}

// memcachedContainer runs memcached on spec.port, as a node or as the proxy.
func memcachedContainer(m *cachev1alpha1.Memcached, image string, args []string, d parts.Defaults) *corev1ac.ContainerApplyConfiguration {
	alive := func() *corev1ac.ProbeApplyConfiguration {
		return corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(portName)))
	}
	container := parts.Container(appName, image, m.Spec.PodOptions).
		WithCommand("memcached").
		WithArgs(args...).
		WithPorts(containerPort(portName, m.Spec.Port)).
		WithSecurityContext(parts.RestrictedContainer()).
		WithReadinessProbe(alive().WithPeriodSeconds(2)).
		WithLivenessProbe(alive().WithPeriodSeconds(10).WithFailureThreshold(6))
	if d != parts.FormerDefaults { // the kubelet reports what it said last, if it fails: memcached logs no secret
		container.WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError)
	}
	return container
}

// descriptors is the value of -c. memcached takes it for the limit of all its file descriptors (memcached.c: RLIMIT_NOFILE), of
// which it needs 5 for each thread and 3 for itself, or it exits (counted with 1.6.18). Eight for each thread and 32 leave room for
// other versions, so that a node accepts as many connections as the spec says.
func descriptors(m *cachev1alpha1.Memcached, d parts.Defaults) int32 {
	if d == parts.FormerDefaults {
		return m.Spec.Connections
	}
	return m.Spec.Connections + 8*m.Spec.Threads + 32
}

// limitArguments keeps flag and value apart: memcached 1.6.38 refuses -m=64.
func limitArguments(m *cachev1alpha1.Memcached, d parts.Defaults) []string {
	return []string{
		"-m", strconv.FormatInt(quantityBytes(m.Spec.Memory, defaultMemory)>>20, 10),
		"-I", strconv.FormatInt(quantityBytes(m.Spec.MaxItemSize, defaultMaxItem), 10),
		"-c", strconv.Itoa(int(descriptors(m, d))),
		"-t", strconv.Itoa(int(m.Spec.Threads)),
		"-p", strconv.Itoa(int(m.Spec.Port)),
	}
}

func arguments(m *cachev1alpha1.Memcached, d parts.Defaults) []string {
	args := limitArguments(m, d)
	if m.Spec.Verbosity > 0 {
		args = append(args, "-"+strings.Repeat("v", int(m.Spec.Verbosity)))
	}
	flags, options := tlsArguments(m)
	args, options = slices.Concat(args, flags, authArguments(m)), slices.Concat(m.Spec.Options, options)
	if len(options) > 0 {
		args = append(args, "-o", strings.Join(options, ","))
	}
	return args
}

// resources returns the user's resources, with a computed memory limit where there is none.
func resources(m *cachev1alpha1.Memcached, d parts.Defaults) corev1.ResourceRequirements {
	r := *m.Spec.Resources.DeepCopy()
	if d != parts.FormerDefaults {
		r = parts.FillResources(r, cpuDefaults(m))
	}
	if _, isSet := r.Limits[corev1.ResourceMemory]; !isSet {
		if r.Limits == nil {
			r.Limits = corev1.ResourceList{}
		}
		r.Limits[corev1.ResourceMemory] = *resource.NewQuantity(memoryNeeded(m), resource.BinarySI)
	}
	return r
}

// cpuDefaults are an idle server's request, and as much as one can use: a CPU for each thread that serves, and one for those that
// accept connections and tidy up (thread.c, items.c).
func cpuDefaults(m *cachev1alpha1.Memcached) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(m.Spec.Threads)+1, resource.DecimalSI)},
	}
}

// memoryNeeded is the memory, in bytes, that a full node takes, rounded up to whole Mi. The schema computes the same
// sum, to the byte.
func memoryNeeded(m *cachev1alpha1.Memcached) int64 {
	const mi = 1 << 20
	items := quantityBytes(m.Spec.Memory, defaultMemory)
	exactly := items + items/tableShare + memoryOverhead + int64(m.Spec.Connections)*memoryPerConnection
	return (exactly + mi - 1) / mi * mi
}

// headlessService gives the nodes their DNS names, ready or not: the hash ring must not move when one restarts.
func headlessService(m *cachev1alpha1.Memcached) *corev1ac.ServiceApplyConfiguration {
	service := service(m, headlessName(m))
	service.Spec.WithClusterIP(corev1.ClusterIPNone).WithPublishNotReadyAddresses(true)
	if hasMetrics(m) {
		service.Spec.WithPorts(servicePort(metricsName, exporterPort))
	}
	return service
}

// clientService is the one endpoint in front of all ready nodes.
func clientService(m *cachev1alpha1.Memcached) *corev1ac.ServiceApplyConfiguration {
	return service(m, m.Name)
}

func service(m *cachev1alpha1.Memcached, name string) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(name, "").
		WithLabels(parts.Labels(appName, m.Name)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(parts.SelectorLabels(appName, m.Name)).
			WithPorts(servicePorts(m)...))
}

// serversConfigMap is what an application mounts to know the nodes, one a line.
func serversConfigMap(m *cachev1alpha1.Memcached) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(m.Name+"-servers", "").
		WithLabels(parts.Labels(appName, m.Name)).
		WithData(map[string]string{
			"endpoint": endpoint(m),
			"servers":  strings.Join(servers(m), "\n"),
		})
}

// budget lets one node at a time be evicted, and broken ones always.
func budget(m *cachev1alpha1.Memcached) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return parts.DisruptionBudget(appName, m.Name, m.Spec.Disruption, policyv1.AlwaysAllow)
}
