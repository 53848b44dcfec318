package memcached

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

func behindProxy(size int32, replicas *int32) *cachev1alpha1.Memcached {
	return newMemcached(func(s *cachev1alpha1.MemcachedSpec) {
		s.Size, s.Proxy = &size, &cachev1alpha1.MemcachedProxy{Enabled: true, Replicas: replicas}
		s.Options = []string{"hashpower=20"}
	})
}

func TestTheProxyIsThereWhenItIsEnabled(t *testing.T) {
	own := []string{"ConfigMap a-proxy", "Deployment a-proxy", "Service a-proxy"}
	for _, c := range []struct {
		reason   string
		m        *cachev1alpha1.Memcached
		want     []string
		endpoint string
	}{
		{"a spec without a proxy", newMemcached(nil), nil, "a.n.svc:11211"},
		{"a disabled proxy", newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Proxy = &cachev1alpha1.MemcachedProxy{} }), nil,
			"a.n.svc:11211"},
		{"an enabled proxy", behindProxy(3, nil), append(own[:3:3], "PodDisruptionBudget a-proxy"), "a-proxy.n.svc:11211"},
		{"an enabled proxy of one pod", behindProxy(3, ptr.To[int32](1)), own, "a-proxy.n.svc:11211"},
	} {
		var got []string
		for _, child := range desired(c.m, minimalInputs) {
			if name := *child.GetName(); strings.HasSuffix(name, "-proxy") {
				got = append(got, *child.GetKind()+" "+name)
			}
		}
		if !slices.Equal(got, c.want) || endpoint(c.m) != c.endpoint {
			t.Errorf("%s: %v at %s", c.reason, got, endpoint(c.m))
		}
	}
}

func TestRoutesListTheNodesByTheirOrdinals(t *testing.T) {
	if got := proxyRoutes(behindProxy(2, nil)); got != `settings{ tcp_keepalive = true }
pools{ nodes = { backends = {
  "a-0.a-headless.n.svc:11211",
  "a-1.a-headless.n.svc:11211",
} } }
routes{ default = route_direct{ child = "nodes" } }
` {
		t.Error(got)
	}
	template := func(size int32) string {
		return encode(t, proxyDeployment(behindProxy(size, nil), minimalInputs).Spec.Template)
	}
	if template(2) == template(3) {
		t.Error("the proxy does not learn of another node")
	}
	if got := *proxyDeployment(behindProxy(0, nil), minimalInputs).Spec.Replicas; got != 0 {
		t.Errorf("%d of it lead nowhere", got)
	}
}

// If the nodes' Service led to a proxy, or a proxy counted as a node, requests would go in circles.
func TestNodesAndProxyAreNotTakenForOneAnother(t *testing.T) {
	m := behindProxy(2, nil)
	pod := proxyDeployment(m, minimalInputs).Spec.Template.Labels
	for key, value := range clientService(m).Spec.Selector {
		if pod[key] != value {
			return
		}
	}
	t.Error("the nodes' Service selects the proxy's pods")
}

func TestTheProxyRunsMemcached(t *testing.T) {
	container := proxyDeployment(behindProxy(2, nil), minimalInputs).Spec.Template.Spec.Containers[0]
	if got := strings.Join(container.Args,
		" "); got != "-m 64 -I 1048576 -c 1024 -t 4 -p 11211 -o proxy_config=routelib,proxy_arg=/etc/memcached-proxy/routes.lua" {
		t.Error(got)
	}
	if got := container.Resources.Limits.Memory().String(); got != "160Mi" {
		t.Error(got)
	}
}
