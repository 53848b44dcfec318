package memcached

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func withMetrics(change func(*cachev1alpha1.MemcachedSpec)) *cachev1alpha1.Memcached {
	return newMemcached(func(s *cachev1alpha1.MemcachedSpec) {
		s.Metrics = &cachev1alpha1.MemcachedMetrics{Enabled: true}
		if change != nil {
			change(s)
		}
	})
}

func TestTheExporterSpeaksAsApplicationsDo(t *testing.T) {
	const address = "--memcached.address=localhost:11211 --web.listen-address=:9150 --web.telemetry-path=/metrics"
	const over = " --memcached.tls.enable --memcached.tls.server-name=a.n.svc --memcached.tls.ca-file=/etc/memcached-tls/ca.crt"
	secure := func(auth cachev1alpha1.MemcachedClientAuth) func(*cachev1alpha1.MemcachedSpec) {
		return func(s *cachev1alpha1.MemcachedSpec) { s.TLS = &cachev1alpha1.MemcachedTLS{ClientAuth: auth} }
	}
	for _, c := range []struct {
		reason string
		change func(*cachev1alpha1.MemcachedSpec)
		args   string
	}{
		{"in the clear", nil, address},
		{"over TLS", secure(cachev1alpha1.MemcachedClientAuthRequest), address + over},
		{"with a certificate", secure(cachev1alpha1.MemcachedClientAuthRequire),
			address + over + " --memcached.tls.cert-file=/etc/memcached-tls/tls.crt --memcached.tls.key-file=/etc/memcached-tls/tls.key"},
	} {
		containers := nodeStatefulSet(withMetrics(c.change), inputs{image: image, exporter: "exporter:1"}).Spec.Template.Spec.Containers
		if len(containers) != 2 || *containers[1].Name != exporter || *containers[1].Image != "exporter:1" {
			t.Fatalf("%s: %s", c.reason, encode(t, containers))
		}
		if got := strings.Join(containers[1].Args, " "); got != c.args {
			t.Errorf("%s: %s", c.reason, got)
		}
		if got := len(containers[1].VolumeMounts); got != len(containers[0].VolumeMounts) {
			t.Errorf("%s: %d volumes", c.reason, got)
		}
	}
}

func TestMetricsAreOfferedOnce(t *testing.T) {
	for _, c := range []struct {
		reason string
		m      *cachev1alpha1.Memcached
		ports  int
		kinds  []string
	}{
		{"none", newMemcached(nil), 1, nil},
		{"off", withMetrics(func(s *cachev1alpha1.MemcachedSpec) { s.Metrics.Enabled = false }), 1, nil},
		{"without a monitor", withMetrics(nil), 2, nil},
		{"with one", withMetrics(func(s *cachev1alpha1.MemcachedSpec) { s.Metrics.ServiceMonitor = &commonv1.ServiceMonitor{} }), 2,
			[]string{"ServiceMonitor"}},
	} {
		if got := len(headlessService(c.m).Spec.Ports); got != c.ports {
			t.Errorf("%s: the headless Service has %d ports", c.reason, got)
		}
		if got := len(clientService(c.m).Spec.Ports); got != 1 {
			t.Errorf("%s: the client Service has %d ports: a scraper would count twice", c.reason, got)
		}
		var kinds []string
		for _, child := range desired(c.m, minimalInputs) {
			if *child.GetKind() == "ServiceMonitor" {
				kinds = append(kinds, *child.GetKind())
			}
		}
		if !slices.Equal(kinds, c.kinds) {
			t.Errorf("%s: %v", c.reason, kinds)
		}
	}
}

func TestTheExporterThatRunsIsKept(t *testing.T) {
	r := &Reconciler{ExporterImage: "new"}
	running := &appsv1.StatefulSet{}
	if got := r.exporterImage(withMetrics(nil), running); got != "new" {
		t.Error(got)
	}
	running.Spec.Template.Spec.Containers = []corev1.Container{{Name: appName, Image: image}, {Name: exporter, Image: "old"}}
	if got := r.exporterImage(withMetrics(nil), running); got != "old" {
		t.Error(got)
	}
	if got := r.exporterImage(withMetrics(func(s *cachev1alpha1.MemcachedSpec) { s.Metrics.Image = "own" }), running); got != "own" {
		t.Error(got)
	}
}
