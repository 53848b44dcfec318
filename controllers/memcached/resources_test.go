package memcached

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

const image = "example.org/memcached:1"

// minimalInputs are the inputs of an object that needs no Secret.
var minimalInputs = inputs{image: image}

// newMemcached is an object as the API server returns it, with defaults.
func newMemcached(change func(*cachev1alpha1.MemcachedSpec)) *cachev1alpha1.Memcached {
	return builders.Memcached("a").In("n").Size(1).Memory("64Mi").MaxItemSize("1Mi").Port(11211).
		With(func(s *cachev1alpha1.MemcachedSpec) {
			s.Connections, s.Threads = 1024, 4
			if change != nil {
				change(s)
			}
		}).Build()
}

func TestArguments(t *testing.T) {
	const files = "ssl_chain_cert=/etc/memcached-tls/tls.crt,ssl_key=/etc/memcached-tls/tls.key,ssl_ca_cert=/etc/memcached-tls/ca.crt"
	for _, c := range []struct {
		reason string
		change func(*cachev1alpha1.MemcachedSpec)
		args   string
	}{
		{"defaults", nil, "-m 64 -I 1048576 -c 1024 -t 4 -p 11211"},
		{"memory counts in MiB", func(s *cachev1alpha1.MemcachedSpec) { s.Memory = ptr.To(resource.MustParse("1Gi")) },
			"-m 1024 -I 1048576 -c 1024 -t 4 -p 11211"},
		{"memory is rounded down", func(s *cachev1alpha1.MemcachedSpec) { s.Memory = ptr.To(resource.MustParse("100M")) },
			"-m 95 -I 1048576 -c 1024 -t 4 -p 11211"},
		{"everything", func(s *cachev1alpha1.MemcachedSpec) {
			s.MaxItemSize = ptr.To(resource.MustParse("2Mi"))
			s.Connections, s.Threads, s.Port, s.Verbosity = 16, 1, 1024, 3
			s.Options = []string{"modern", "hashpower=20"}
		}, "-m 64 -I 2097152 -c 16 -t 1 -p 1024 -vvv -o modern,hashpower=20"},
		{"users", func(s *cachev1alpha1.MemcachedSpec) { s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "chosen"} },
			"-m 64 -I 1048576 -c 1024 -t 4 -p 11211 -Y /etc/memcached-users/users"},
		{"TLS on port alone", func(s *cachev1alpha1.MemcachedSpec) {
			s.Options, s.TLS = []string{"modern"}, &cachev1alpha1.MemcachedTLS{Mode: cachev1alpha1.MemcachedTLSRequired, PlaintextPort: 11212}
		}, "-m 64 -I 1048576 -c 1024 -t 4 -p 11211 -Z -o modern," + files + ",ssl_verify_mode=0"},
		{"a second port in the clear", func(s *cachev1alpha1.MemcachedSpec) {
			s.TLS = &cachev1alpha1.MemcachedTLS{Mode: cachev1alpha1.MemcachedTLSOptional, PlaintextPort: 11212,
				ClientAuth: cachev1alpha1.MemcachedClientAuthRequest}
		}, "-m 64 -I 1048576 -c 1024 -t 4 -p 11211 -l *,notls:*:11212 -Z -o " + files + ",ssl_verify_mode=1"},
		{"everybody shows a certificate", func(s *cachev1alpha1.MemcachedSpec) {
			s.TLS = &cachev1alpha1.MemcachedTLS{ClientAuth: cachev1alpha1.MemcachedClientAuthRequire}
		}, "-m 64 -I 1048576 -c 1024 -t 4 -p 11211 -Z -o " + files + ",ssl_verify_mode=2"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := strings.Join(arguments(newMemcached(c.change), parts.FormerDefaults), " "); got != c.args {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestResources(t *testing.T) {
	limit := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(q)}
	}
	for _, c := range []struct {
		reason string
		change func(*cachev1alpha1.MemcachedSpec)
		memory string
	}{
		{"64Mi for items, a sixth of it for their table, 64Mi for the rest, 32Ki for each of 1024 connections", nil, "171Mi"},
		{"a table of 2^25 pointers next to the half of it", func(s *cachev1alpha1.MemcachedSpec) {
			s.Memory, s.Connections = ptr.To(resource.MustParse("3Gi")), 16
		}, "3649Mi"},
		{"the user's limit", func(s *cachev1alpha1.MemcachedSpec) { s.Resources.Limits = limit("1Gi") }, "1Gi"},
		{"a limit on CPU asks for one on memory", func(s *cachev1alpha1.MemcachedSpec) {
			s.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}, "171Mi"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := newMemcached(c.change)
			before := m.DeepCopy()
			r := resources(m, parts.FormerDefaults)
			if got := r.Limits.Memory(); got.Cmp(resource.MustParse(c.memory)) != 0 {
				t.Errorf("got %s", got)
			}
			if len(m.Spec.Resources.Limits) != len(before.Spec.Resources.Limits) {
				t.Error("the spec was changed")
			}
		})
	}
}

func TestChildren(t *testing.T) {
	for _, c := range []struct {
		size  int32
		names []string
	}{
		{0, []string{"StatefulSet a", "Service a-headless", "Service a", "ConfigMap a-servers"}},
		{1, []string{"StatefulSet a", "Service a-headless", "Service a", "ConfigMap a-servers"}},
		{2, []string{"StatefulSet a", "Service a-headless", "Service a", "ConfigMap a-servers", "PodDisruptionBudget a"}},
	} {
		var names []string
		for _, child := range desired(newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Size = &c.size }), minimalInputs) {
			names = append(names, *child.GetKind()+" "+*child.GetName())
		}
		if !slices.Equal(names, c.names) {
			t.Errorf("size %d: %v", c.size, names)
		}
	}
}

func TestDesiredIsTheSameForTheSameSpecAndLeavesItAlone(t *testing.T) {
	m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.PodLabels = map[string]string{"c": "1", "a": "2", "b": "3"} })
	before := encode(t, m)
	first := encode(t, desired(m, minimalInputs))
	for range 20 {
		if encode(t, desired(m, minimalInputs)) != first {
			t.Fatal("another time, other bytes")
		}
	}
	if encode(t, m) != before {
		t.Error("the spec was changed")
	}
}

func TestTheRingStandsWhileANodeRestarts(t *testing.T) {
	m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Size, s.Port = ptr.To[int32](2), 11311 })
	if got := servers(m); !slices.Equal(got, []string{"a-0.a-headless.n.svc:11311", "a-1.a-headless.n.svc:11311"}) {
		t.Error(got)
	}
	if s := headlessService(m); !*s.Spec.PublishNotReadyAddresses || *s.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Error("the headless Service hides nodes that restart")
	}
	if s := clientService(m); s.Spec.PublishNotReadyAddresses != nil || s.Spec.ClusterIP != nil {
		t.Error("the client Service says more than it means")
	}
	data := serversConfigMap(m).Data
	if data["endpoint"] != "a.n.svc:11311" || strings.Count(data["servers"], "\n") != 1 {
		t.Error(data)
	}
}

func TestOneColdNodeAtATime(t *testing.T) {
	for _, c := range []struct {
		rollout *cachev1alpha1.MemcachedRollout
		want    int32
	}{
		{nil, 30},
		{&cachev1alpha1.MemcachedRollout{}, 30},
		{&cachev1alpha1.MemcachedRollout{MinReadySeconds: ptr.To[int32](0)}, 0},
		{&cachev1alpha1.MemcachedRollout{MinReadySeconds: ptr.To[int32](600)}, 600},
	} {
		m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Rollout = c.rollout })
		if got := *nodeStatefulSet(m, minimalInputs).Spec.MinReadySeconds; got != c.want {
			t.Errorf("%v: got %d", c.rollout, got)
		}
	}
}

func TestSelectorsDoNotMoveWithTheSpec(t *testing.T) {
	before := nodeStatefulSet(newMemcached(nil), minimalInputs).Spec.Selector
	after := nodeStatefulSet(newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Size, s.Port = ptr.To[int32](9), 2000 }),
		inputs{image: "other:2"}).Spec.Selector
	if encode(t, before) != encode(t, after) {
		t.Error("a selector is immutable")
	}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
