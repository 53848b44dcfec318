package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = register(kind{
	name:            "Memcached",
	sampleFile:      "cache_v1alpha1_memcached.yaml",
	scaled:          true,
	maxStatusWrites: 7,
	sample:          func() client.Object { return fullMemcached() },
	edit: func(obj client.Object) {
		obj.(*cachev1alpha1.Memcached).Spec = builders.Memcached("").Size(1).Image("example.org/memcached:other").Memory("96Mi").Build().Spec
	},
	paused: func(obj client.Object, paused bool) { obj.(*cachev1alpha1.Memcached).Spec.Paused = paused },
	prerequisite: func(namespace string) client.Object {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chosen"},
			StringData: map[string]string{"users": "app:secret"},
			Data:       certifier.Issue("full." + namespace + ".svc"),
		}
	},
	asks: "get secrets chosen",
})

// fullMemcached sets every optional field but paused.
func fullMemcached() *cachev1alpha1.Memcached {
	return builders.Memcached("full").Size(3).Image("example.org/memcached:full").
		Memory("128Mi").MaxItemSize("2Mi").Limit("1Gi").Options("modern", "hashpower=20").Port(11311).
		TLS("chosen", cachev1alpha1.MemcachedClientAuthRequire).
		With(func(s *cachev1alpha1.MemcachedSpec) {
			s.NetworkPolicy = &commonv1.NetworkPolicy{}
			s.Rollout = &cachev1alpha1.MemcachedRollout{MinReadySeconds: ptr.To[int32](1)}
			s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "chosen"}
			s.TLS.Mode, s.TLS.PlaintextPort = cachev1alpha1.MemcachedTLSOptional, 11312
			s.Connections, s.Threads, s.Verbosity = 2048, 2, 1
			s.Disruption = &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromString("50%"))}
			s.PodOptions = builders.FullPodOptions()
		}).Build()
}

var _ = Describe("Memcached", func() {
	plain := func() *builders.MemcachedBuilder { return builders.Memcached("a") }
	with := func(change func(*cachev1alpha1.MemcachedSpec)) client.Object { return plain().With(change).Build() }
	tls := func(change func(*cachev1alpha1.MemcachedTLS), also ...func(*cachev1alpha1.MemcachedSpec)) client.Object {
		maker := plain().TLS("a", "").With(func(s *cachev1alpha1.MemcachedSpec) { change(s.TLS) })
		for _, edit := range also {
			maker.With(edit)
		}
		return maker.Build()
	}

	DescribeTable("is refused", func(obj client.Object, field string) { reject(obj, field) },
		Entry("size below 0", plain().Size(-1).Build(), "spec.size"),
		Entry("size of a million", plain().Size(1_000_000).Build(), "spec.size"),
		Entry("size above the edge", plain().Size(257).Build(), "spec.size"),
		Entry("image with a space", plain().Image("memcached latest").Build(), "spec.image"),
		Entry("image too long", plain().Image(strings.Repeat("a", 513)).Build(), "spec.image"),
		Entry("memory below 8Mi", plain().Memory("8191Ki").Build(), "spec.memory"),
		Entry("memory above 1Ti", plain().Memory("1025Gi").Build(), "spec.memory"),
		Entry("memory of 0", plain().Memory("0").Build(), "spec.memory"),
		Entry("maxItemSize above 512Mi", plain().Memory("2Gi").MaxItemSize("513Mi").Build(), "spec.maxItemSize"),
		Entry("maxItemSize beyond all numbers", plain().MaxItemSize("1e30").Build(), "spec.maxItemSize"),
		Entry("memory limit below what a full node takes", plain().Memory("64Mi").Limit("178956969").Build(), "resources.limits.memory"),
		Entry("memory limit without a table's sixth", plain().Memory("4Gi").Limit("4192Mi").Build(), "resources.limits.memory"),
		Entry("memory limit below what one of the default memory takes", plain().Limit("170Mi").Build(), "resources.limits.memory"),
		Entry("memory limit below what connections take", plain().Limit("178956970").With(func(s *cachev1alpha1.MemcachedSpec) {
			s.Connections = 1025
		}).Build(), "resources.limits.memory"),
		Entry("connections below 16", with(func(s *cachev1alpha1.MemcachedSpec) { s.Connections = 15 }), "spec.connections"),
		Entry("connections above 100000", with(func(s *cachev1alpha1.MemcachedSpec) { s.Connections = 100_001 }), "spec.connections"),
		Entry("threads below 1", with(func(s *cachev1alpha1.MemcachedSpec) { s.Threads = -1 }), "spec.threads"),
		Entry("threads above 64", with(func(s *cachev1alpha1.MemcachedSpec) { s.Threads = 65 }), "spec.threads"),
		Entry("a privileged port", plain().Port(1023).Build(), "spec.port"),
		Entry("port 70000", plain().Port(70_000).Build(), "spec.port"),
		Entry("verbosity above 3", with(func(s *cachev1alpha1.MemcachedSpec) { s.Verbosity = 4 }), "spec.verbosity"),
		Entry("TLS in options", plain().Options("ssl_chain_cert=/a").Build(), "options"),
		Entry("the proxy in options", plain().Options("modern", "proxy_config=/a").Build(), "options"),
		Entry("a comma in options", plain().Options("modern,ssl_key=/a").Build(), "spec.options[0]"),
		Entry("a newline in options", plain().Options("modern\nssl_key=/a").Build(), "spec.options[0]"),
		Entry("chunks larger than some maxItemSize", plain().Options("slab_chunk_max=1024").Build(), "options: slab_chunk_max"),
		Entry("chunks in bytes", plain().Options("modern", "slab_chunk_max=524288").Build(), "options: slab_chunk_max"),
		Entry("too many options", plain().Options(repeated("modern", 33)...).Build(), "spec.options"),
		Entry("disruption beyond 100%", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Disruption = &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromString("101%"))}
		}), "disruption.maxUnavailable"),
		Entry("disruption below 0", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Disruption = &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromInt32(-1))}
		}), "disruption.maxUnavailable"),
		Entry("a rollout in the past", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Rollout = &cachev1alpha1.MemcachedRollout{MinReadySeconds: ptr.To[int32](-1)}
		}), "spec.rollout.minReadySeconds"),
		Entry("a node a week", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Rollout = &cachev1alpha1.MemcachedRollout{MinReadySeconds: ptr.To[int32](86_401)}
		}), "spec.rollout.minReadySeconds"),
		Entry("more proxies than may be", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true, Replicas: ptr.To[int32](65)}
		}), "spec.proxy.replicas"),
		Entry("no proxy at all, but enabled", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true, Replicas: ptr.To[int32](0)}
		}), "spec.proxy.replicas"),
		Entry("a proxy to nodes with TLS", tls(func(*cachev1alpha1.MemcachedTLS) {}, func(s *cachev1alpha1.MemcachedSpec) {
			s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true}
		}), "proxy.enabled"),
		Entry("a proxy to nodes with users", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Auth, s.Proxy = &cachev1alpha1.MemcachedAuth{SecretName: "a"}, &cachev1alpha1.MemcachedProxy{Enabled: true}
		}), "proxy.enabled"),
		Entry("an exporter that cannot log in", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Auth, s.Metrics = &cachev1alpha1.MemcachedAuth{SecretName: "a"}, &cachev1alpha1.MemcachedMetrics{Enabled: true}
		}), "metrics.enabled"),
		Entry("the exporter's port for the cache", plain().Port(9150).With(func(s *cachev1alpha1.MemcachedSpec) {
			s.Metrics = &cachev1alpha1.MemcachedMetrics{Enabled: true}
		}).Build(), "metrics.enabled"),
		Entry("the exporter's port in the clear", tls(func(over *cachev1alpha1.MemcachedTLS) {
			over.Mode, over.PlaintextPort = cachev1alpha1.MemcachedTLSOptional, 9150
		}, func(s *cachev1alpha1.MemcachedSpec) { s.Metrics = &cachev1alpha1.MemcachedMetrics{Enabled: true} }), "metrics.enabled"),
		Entry("an exporter's image with a space", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Metrics = &cachev1alpha1.MemcachedMetrics{Image: "a b"}
		}), "spec.metrics.image"),
		Entry("auth without a Secret", with(func(s *cachev1alpha1.MemcachedSpec) { s.Auth = &cachev1alpha1.MemcachedAuth{} }),
			"spec.auth.secretName"),
		Entry("auth by the operator's own Secret",
			with(func(s *cachev1alpha1.MemcachedSpec) { s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "a-auth"} }), "auth.secretName"),
		Entry("auth by a name that no Secret has",
			with(func(s *cachev1alpha1.MemcachedSpec) { s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "a/b"} }), "spec.auth.secretName"),
		Entry("tls by the operator's own Secret", plain().TLS("a-certificates", "").Build(), "tls.secretName"),
		Entry("tls without a Secret", plain().TLS("", "").Build(), "tls.secretName"),
		Entry("a mode that is none", tls(func(over *cachev1alpha1.MemcachedTLS) { over.Mode = "Sometimes" }), "spec.tls.mode"),
		Entry("clients that may be anybody", tls(func(over *cachev1alpha1.MemcachedTLS) { over.ClientAuth = "Optional" }), "spec.tls.clientAuth"),
		Entry("a privileged port in the clear", tls(func(over *cachev1alpha1.MemcachedTLS) { over.PlaintextPort = 1023 }),
			"spec.tls.plaintextPort"),
		Entry("one port for both", tls(func(over *cachev1alpha1.MemcachedTLS) {
			over.Mode, over.PlaintextPort = cachev1alpha1.MemcachedTLSOptional, 11211
		}), "tls.plaintextPort"),
		Entry("a name too long for its Services", builders.Memcached(strings.Repeat("a", 49)).Build(), "metadata.name"),
		Entry("a name that no Service may have", builders.Memcached("1a").Build(), "metadata.name"),
		Entry("a name with a dot", builders.Memcached("a.b").Build(), "metadata.name"),
	)

	DescribeTable("is accepted at the edge", func(obj client.Object) { accept(obj) },
		Entry("nothing said", plain().Build()),
		Entry("size 0", plain().Size(0).Build()),
		Entry("size 256", plain().Size(256).Build()),
		Entry("image with port and digest", plain().Image("localhost:5000/a/memcached@sha256:"+strings.Repeat("0", 64)).Build()),
		Entry("image of 512", plain().Image(strings.Repeat("a", 512)).Build()),
		Entry("memory 8Mi", plain().Memory("8Mi").Build()),
		Entry("memory 1Ti", plain().Memory("1Ti").Build()),
		Entry("memory limit of what a full node takes", plain().Memory("64Mi").Limit("178956970").Build()),
		Entry("memory limit in another unit", plain().Memory("0.1875Gi").Limit("320Mi").Build()),
		Entry("memory limit of all there is", plain().Memory("1Ti").Limit("1e18").Build()),
		Entry("a limit on CPU alone", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		})),
		Entry("all at the upper edge", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Connections, s.Threads, s.Port, s.Verbosity = 100_000, 64, 65_535, 3
		})),
		Entry("all at the lower edge", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Connections, s.Threads, s.Port, s.Verbosity = 16, 1, 1024, 0
		})),
		Entry("32 options", plain().Options(repeated("hashpower=20", 32)...).Build()),
		Entry("disruption 0", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Disruption = &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromInt32(0))}
		})),
		Entry("disruption 100%", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Disruption = &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromString("100%"))}
		})),
		Entry("a rollout at once", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Rollout = &cachev1alpha1.MemcachedRollout{MinReadySeconds: ptr.To[int32](0)}
		})),
		Entry("metrics", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Metrics = &cachev1alpha1.MemcachedMetrics{Enabled: true, Image: "localhost:5000/exporter:1",
				ServiceMonitor: &commonv1.ServiceMonitor{Interval: "30s"}}
		})),
		Entry("the exporter's port where there is none", plain().Port(9150).Build()),
		Entry("a proxy", with(func(s *cachev1alpha1.MemcachedSpec) { s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true} })),
		Entry("64 proxies", with(func(s *cachev1alpha1.MemcachedSpec) {
			s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true, Replicas: ptr.To[int32](64)}
		})),
		Entry("a proxy and metrics of which nothing is said", &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": cachev1alpha1.GroupVersion.String(), "kind": "Memcached", "metadata": map[string]any{"name": "a"},
			"spec": map[string]any{"proxy": map[string]any{}, "metrics": map[string]any{}, "tls": map[string]any{"secretName": "a"}},
		}}),
		Entry("TLS and a proxy that is off", tls(func(*cachev1alpha1.MemcachedTLS) {}, func(s *cachev1alpha1.MemcachedSpec) {
			s.Proxy = &cachev1alpha1.MemcachedProxy{}
		})),
		Entry("TLS", plain().TLS("a", "").Build()),
		Entry("TLS with a port in the clear", tls(func(over *cachev1alpha1.MemcachedTLS) { over.Mode = cachev1alpha1.MemcachedTLSOptional })),
		Entry("no port in the clear, whatever its number", tls(func(over *cachev1alpha1.MemcachedTLS) { over.PlaintextPort = 11211 })),
		Entry("a name of 48", builders.Memcached(strings.Repeat("a", 48)).Build()),
		Entry("every field", fullMemcached()),
	)

	DescribeTable("with this item size is accepted when memcached starts with it, and else refused", func(sizes builders.MemcachedItemSizes) {
		if sizes.Starts {
			accept(sizes.Set(plain()).Build())
		} else {
			reject(sizes.Set(plain()).Build(), sizes.Field)
		}
	}, func() (entries []TableEntry) {
		for _, sizes := range builders.ItemSizes {
			entries = append(entries, Entry(sizes.String(), sizes))
		}
		return entries
	}())

	It("defaults what is not said", func(ctx SpecContext) {
		obj := created(plain().Build()).(*cachev1alpha1.Memcached)
		Expect(obj.Spec.Size).To(HaveValue(BeEquivalentTo(1)))
		Expect(obj.Spec.Memory.String()).To(Equal("64Mi"))
		Expect(obj.Spec.MaxItemSize.String()).To(Equal("1Mi"))
		Expect(obj.Spec.Connections).To(BeEquivalentTo(1024))
		Expect(obj.Spec.Threads).To(BeEquivalentTo(4))
		Expect(obj.Spec.Port).To(BeEquivalentTo(11211))
	})

	It("names its nodes, servers and endpoint, and none of them at size 0", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		obj := plain().In(namespace).Size(3).Build()
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			g.Expect(obj.Status.Nodes).To(Equal([]string{"a-0", "a-1", "a-2"}))
		}).Should(Succeed())
		Expect(obj.Status.Servers).To(HaveLen(3))
		Expect(obj.Status.Servers[2]).To(Equal("a-2.a-headless." + namespace + ".svc:11211"))
		Expect(obj.Status.Endpoint).To(Equal("a." + namespace + ".svc:11211"))

		update(ctx, obj, func(o client.Object) { o.(*cachev1alpha1.Memcached).Spec.Size = ptr.To(int32(0)) })
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			g.Expect(obj.Status.Nodes).To(And(BeEmpty(), Not(BeNil())))
			g.Expect(obj.Status.Servers).To(And(BeEmpty(), Not(BeNil())))
			g.Expect(obj.Status.ObservedGeneration).To(Equal(obj.Generation))
		}).Should(Succeed())
	})
})

var _ = Describe("Memcached's proxy", func() {
	It("comes, follows the nodes, and goes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		obj := builders.Memcached("a").In(namespace).Size(2).
			With(func(s *cachev1alpha1.MemcachedSpec) { s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true} }).Build()
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		Expect(obj.Status.Endpoint).To(Equal("a-proxy." + namespace + ".svc:11211"))
		Expect(obj.Status.Nodes).To(Equal([]string{"a-0", "a-1"}), "the proxy's pods are no nodes")
		routes := func() string {
			found := &corev1.ConfigMap{}
			if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a-proxy"}, found); err != nil {
				return err.Error()
			}
			return found.Data["routes.lua"]
		}
		Expect(routes()).NotTo(ContainSubstring("a-2"))
		update(ctx, obj, func(o client.Object) { o.(*cachev1alpha1.Memcached).Spec.Size = ptr.To[int32](3) })
		Eventually(routes).Should(ContainSubstring("a-2.a-headless"))
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())

		update(ctx, obj, func(o client.Object) { o.(*cachev1alpha1.Memcached).Spec.Proxy.Enabled = false })
		Eventually(routes).Should(ContainSubstring("not found"))
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			g.Expect(obj.Status.Endpoint).To(Equal("a." + namespace + ".svc:11211"))
		}).Should(Succeed())
	})
})

func repeated(text string, times int) []string {
	list := make([]string, times)
	for i := range list {
		list[i] = text
	}
	return list
}
