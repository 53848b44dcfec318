package memcached

import (
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

const (
	// exporter is the container's name.
	exporter     = "exporter"
	metricsName  = "metrics"
	metricsPath  = "/metrics"
	exporterPort = 9150
	// exporterMemory is the exporter's limit, in bytes: several times what it takes.
	exporterMemory = 64 << 20
)

func hasMetrics(m *cachev1alpha1.Memcached) bool {
	return m.Spec.Metrics != nil && m.Spec.Metrics.Enabled
}

// withExporter adds the metrics exporter to a node's pod. It connects to the node as applications do.
func withExporter(m *cachev1alpha1.Memcached, c inputs, template *corev1ac.PodTemplateSpecApplyConfiguration) {
	args := []string{
		fmt.Sprintf("--memcached.address=localhost:%d", m.Spec.Port),
		fmt.Sprintf("--web.listen-address=:%d", exporterPort),
		"--web.telemetry-path=" + metricsPath,
	}
	resources := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(exporterMemory,
		resource.BinarySI)}}
	if c.defaults != parts.FormerDefaults {
		resources = parts.FillResources(resources, parts.Resources("10m", "", "200m", "")) // a scrape takes some milliseconds
	}
	container := parts.WithResources(parts.Container(exporter, c.exporter, m.Spec.PodOptions), resources).
		WithPorts(containerPort(metricsName, exporterPort)).
		WithSecurityContext(parts.RestrictedContainer())
	if m.Spec.TLS != nil {
		args = append(args, "--memcached.tls.enable", "--memcached.tls.server-name="+serviceHost(m),
			"--memcached.tls.ca-file="+path.Join(certificatesDir, pki.CACertKey))
		if m.Spec.TLS.ClientAuth == cachev1alpha1.MemcachedClientAuthRequire {
			args = append(args, "--memcached.tls.cert-file="+path.Join(certificatesDir, corev1.TLSCertKey),
				"--memcached.tls.key-file="+path.Join(certificatesDir, corev1.TLSPrivateKeyKey))
		}
		container.WithVolumeMounts(
			corev1ac.VolumeMount().WithName("certificates").WithMountPath(certificatesDir).WithReadOnly(true))
	}
	template.Spec.WithContainers(container.WithArgs(args...))
}

// serviceMonitor scrapes the metrics port, which only the headless Service has, so no node counts twice.
func serviceMonitor(m *cachev1alpha1.Memcached) *parts.OptionalObject {
	return parts.ServiceMonitor(appName, m.Name, m.Spec.Metrics.ServiceMonitor, metricsName, metricsPath)
}
