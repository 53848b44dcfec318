package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// Its pods have no servers here, so it comes to rest before its first master.
var _ = register(kind{
	name:            "Redis",
	sampleFile:      "cache_v1alpha1_redis.yaml",
	scaled:          true,
	smallest:        1,
	maxStatusWrites: 7,
	sample:          func() client.Object { return fullRedis() },
	edit: func(obj client.Object) {
		obj.(*cachev1alpha1.Redis).Spec = builders.Redis("").Valkey().TLS("chosen",
			cachev1alpha1.RedisClientAuthRequired).Size(2).Image("example.org/redis:other").Storage("1Gi").
			With(func(s *cachev1alpha1.RedisSpec) { s.Storage.StorageClassName = ptr.To("fast") }).Build().Spec
	},
	done: func(ctx context.Context, obj client.Object) error {
		var set appsv1.StatefulSet
		if err := admin.Get(ctx, client.ObjectKeyFromObject(obj), &set); err != nil {
			return err
		}
		if set.Status.ReadyReplicas != *set.Spec.Replicas {
			return fmt.Errorf("%d of %d pods are ready", set.Status.ReadyReplicas, *set.Spec.Replicas)
		}
		return checkCondition(ctx, obj, commonv1.ConditionReady, metav1.ConditionFalse, commonv1.ReasonReplicas)
	},
	paused: func(obj client.Object, paused bool) { obj.(*cachev1alpha1.Redis).Spec.Paused = paused },
	prerequisite: func(namespace string) client.Object {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chosen"},
			StringData: map[string]string{"password": "secret"},
			Data:       certifier.Issue("full." + namespace + ".svc"),
		}
	},
	asks: "get secrets chosen",
})

var certifier = authority.New("integration")

// fullRedis sets every optional field but paused, none to its default.
func fullRedis() *cachev1alpha1.Redis {
	return builders.Redis("full").Valkey().TLS("chosen",
		cachev1alpha1.RedisClientAuthRequired).Size(4).Image("example.org/redis:full").Storage("1Gi").
		Config("maxmemory-policy", "allkeys-lru").Config("databases", "32").MinReplicas(0).Limit("1Gi").
		With(func(s *cachev1alpha1.RedisSpec) {
			s.Storage.StorageClassName, s.Storage.Retention = ptr.To("fast"), cachev1alpha1.RedisDelete
			s.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistBoth, AppendFsync: "always"}
			s.Auth = &cachev1alpha1.RedisAuth{SecretName: "chosen"}
			s.MaxMemoryPercent = ptr.To[int32](50)
			s.Service = cachev1alpha1.RedisService{Type: corev1.ServiceTypeLoadBalancer, Annotations: map[string]string{"pool": "blue"}}
			s.NetworkPolicy = &commonv1.NetworkPolicy{}
			s.Disruption = &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromString("50%"))}
			s.PodOptions = builders.FullPodOptions()
		}).Build()
}

var _ = Describe("Redis", func() {
	plain := func() *builders.RedisBuilder { return builders.Redis("a") }
	with := func(change func(*cachev1alpha1.RedisSpec)) client.Object { return plain().With(change).Build() }
	chosen := func(name string) func(*cachev1alpha1.RedisSpec) {
		return func(s *cachev1alpha1.RedisSpec) { s.Auth = &cachev1alpha1.RedisAuth{SecretName: name} }
	}
	persisting := func(mode cachev1alpha1.RedisPersistenceMode) *cachev1alpha1.RedisPersistence {
		return &cachev1alpha1.RedisPersistence{Mode: mode}
	}

	DescribeTable("is refused", func(obj client.Object, field string) { reject(obj, field) },
		Entry("a Service outside of any cluster", with(func(s *cachev1alpha1.RedisSpec) { s.Service.Type = corev1.ServiceTypeExternalName }),
			"service.type"),
		Entry("size -1", plain().Size(-1).Build(), "spec.size"),
		Entry("size 0", plain().Size(0).Build(), "spec.size"),
		Entry("size 10", plain().Size(10).Build(), "spec.size"),
		Entry("size of a million", plain().Size(1_000_000).Build(), "spec.size"),
		Entry("image with a space", plain().Image("redis latest").Build(), "spec.image"),
		Entry("image too long", plain().Image(strings.Repeat("a", 513)).Build(), "spec.image"),
		Entry("storage too small for anything", plain().Storage("63Mi").Build(), "storage.size"),
		Entry("an unknown retention", plain().Storage("1Gi").With(func(s *cachev1alpha1.RedisSpec) { s.Storage.Retention = "Keep" }).Build(),
			"spec.storage.retention"),
		Entry("an empty storage class",
			plain().Storage("1Gi").With(func(s *cachev1alpha1.RedisSpec) { s.Storage.StorageClassName = ptr.To("") }).Build(),
			"spec.storage.storageClassName"),
		Entry("persistence without storage", with(func(s *cachev1alpha1.RedisSpec) { s.Persistence = persisting("AOF") }), "persistence.mode"),
		Entry("an unknown persistence",
			plain().Storage("1Gi").With(func(s *cachev1alpha1.RedisSpec) { s.Persistence = persisting("Some") }).Build(), "spec.persistence.mode"),
		Entry("hibernation without storage", with(func(s *cachev1alpha1.RedisSpec) { s.Hibernate = true }), "hibernate needs storage"),
		Entry("hibernation of what is not kept", plain().Storage("1Gi").With(func(s *cachev1alpha1.RedisSpec) {
			s.Persistence, s.Hibernate = persisting("None"), true
		}).Build(), "hibernate needs storage"),
		Entry("an unknown appendfsync", plain().Storage("1Gi").With(func(s *cachev1alpha1.RedisSpec) {
			s.Persistence = &cachev1alpha1.RedisPersistence{AppendFsync: "often"}
		}).Build(), "spec.persistence.appendfsync"),
		Entry("W as large as size", plain().Size(3).MinReplicas(3).Build(), "durability.minReplicasToWrite"),
		Entry("W below 0", plain().MinReplicas(-1).Build(), "spec.durability.minReplicasToWrite"),
		Entry("maxMemoryPercent without a limit", with(func(s *cachev1alpha1.RedisSpec) { s.MaxMemoryPercent = ptr.To[int32](50) }),
			"resources.limits.memory"),
		Entry("maxMemoryPercent below 10",
			plain().Limit("1Gi").With(func(s *cachev1alpha1.RedisSpec) { s.MaxMemoryPercent = ptr.To[int32](9) }).Build(), "spec.maxMemoryPercent"),
		Entry("maxMemoryPercent above 95",
			plain().Limit("1Gi").With(func(s *cachev1alpha1.RedisSpec) { s.MaxMemoryPercent = ptr.To[int32](96) }).Build(), "spec.maxMemoryPercent"),
		Entry("maxMemoryPercent with maxmemory", plain().Limit("1Gi").Config("maxmemory", "1mb").With(func(s *cachev1alpha1.RedisSpec) {
			s.MaxMemoryPercent = ptr.To[int32](50)
		}).Build(), "config.maxmemory"),
		Entry("auth without a name", with(func(s *cachev1alpha1.RedisSpec) { s.Auth = &cachev1alpha1.RedisAuth{} }), "spec.auth.secretName"),
		Entry("auth by the Secret that it is written to", with(chosen("a-auth")), "auth.secretName"),
		Entry("auth by another of the operator's own", with(chosen("a-system")), "auth.secretName"),
		Entry("tls without a name", plain().TLS("", "").Build(), "spec.tls.secretName"),
		Entry("tls with a name too long", plain().TLS(strings.Repeat("a", 254), "").Build(), "spec.tls.secretName"),
		Entry("tls with the operator's own Secret", plain().TLS("a-certificates", "").Build(), "tls.secretName"),
		Entry("tls with an unknown clientAuth", plain().TLS("chosen", "Sometimes").Build(), "spec.tls.clientAuth"),
		Entry("a directive of TLS", plain().Config("tls-ciphers", "NULL").Build(), "config"),
		Entry("a directive that would unfence a node", plain().Config("replica-read-only", "no").Build(), "config"),
		Entry("its old name", plain().Config("slave-read-only", "no").Build(), "config"),
		Entry("a directive in capitals", plain().Config("MAXCLIENTS", "5").Build(), "config"),
		Entry("include", plain().Config("include", "/etc/passwd").Build(), "config"),
		Entry("a newline in a value", plain().Config("maxclients", "5\nuser default on nopass").Build(), "config"),
		Entry("another control character", plain().Config("maxclients", "5\x00").Build(), "config"),
		Entry("an empty value", plain().Config("maxclients", "").Build(), "config"),
		Entry("a value too long", plain().Config("maxclients", strings.Repeat("1", 257)).Build(), "spec.config"),
		Entry("the replicas' buffer", plain().Config("client-output-buffer-limit", "replica 0 0 0").Build(), "client-output-buffer-limit"),
		Entry("no databases", plain().Config("databases", "0").Build(), "databases"),
		Entry("databases beyond all reason", plain().Config("databases", "100000").Build(), "databases"),
		Entry("threads that are no number", plain().Config("io-threads", "many").Build(), "io-threads"),
		Entry("threads beyond the servers' bound", plain().Config("io-threads", "129").Build(), "io-threads"),
		Entry("a flavor that is none", with(func(s *cachev1alpha1.RedisSpec) { s.Flavor = "KeyDB" }), "spec.flavor"),
		Entry("a directive that Valkey does not have", plain().Valkey().Config("dynamic-hz", "no").Build(), "dynamic-hz"),
		Entry("disruption beyond 100%", with(func(s *cachev1alpha1.RedisSpec) {
			s.Disruption = &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromString("101%"))}
		}), "disruption.maxUnavailable"),
		Entry("a name too long for its Services", builders.Redis(strings.Repeat("a", 49)).Build(), "metadata.name"),
		Entry("a name that no Service may have", builders.Redis("1a").Build(), "metadata.name"),
	)

	It("is refused with the names of the directives that are not supported, and of no other", func() {
		err := dryRun(plain().Config("maxmemory", "1mb").Config("save", "60 1").Build())
		Expect(err).To(MatchError(And(ContainSubstring(`config: ["save"] is not supported`), Not(ContainSubstring("maxmemory")))))
		i := slices.IndexFunc(cluster.CRDs, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Names.Kind == "Redis" })
		rule := cluster.CRDs[i].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["config"].XValidations[0]
		Expect(rule.MessageExpression).To(ContainSubstring(strings.TrimPrefix(rule.Rule, "self.all(k, k in ")), "one list, said twice")
	})

	DescribeTable("is accepted at the edge", func(obj client.Object) { accept(obj) },
		Entry("nothing said", plain().Build()),
		Entry("size 1", plain().Size(1).Build()),
		Entry("size 9", plain().Size(9).Build()),
		Entry("image of 512", plain().Image(strings.Repeat("a", 512)).Build()),
		Entry("storage of 64Mi", plain().Storage("64Mi").Build()),
		Entry("both ways of persistence",
			plain().Storage("1Gi").With(func(s *cachev1alpha1.RedisSpec) { s.Persistence = persisting("Both") }).Build()),
		Entry("hibernation on volumes", plain().Storage("1Gi").With(func(s *cachev1alpha1.RedisSpec) { s.Hibernate = true }).Build()),
		Entry("no persistence said without storage", with(func(s *cachev1alpha1.RedisSpec) { s.Persistence = persisting("None") })),
		Entry("W one below size", plain().Size(3).MinReplicas(2).Build()),
		Entry("W 0 alone", plain().Size(1).MinReplicas(0).Build()),
		Entry("maxMemoryPercent 10",
			plain().Limit("1Gi").With(func(s *cachev1alpha1.RedisSpec) { s.MaxMemoryPercent = ptr.To[int32](10) }).Build()),
		Entry("maxMemoryPercent 95",
			plain().Limit("1Gi").With(func(s *cachev1alpha1.RedisSpec) { s.MaxMemoryPercent = ptr.To[int32](95) }).Build()),
		Entry("a supported directive", plain().Config("maxmemory-policy", "allkeys-lru").Build()),
		Entry("a value of 256", plain().Config("notify-keyspace-events", strings.Repeat("K", 256)).Build()),
		Entry("auth by another Redis' Secret", with(chosen("b-auth"))),
		Entry("two buffers", plain().Config("client-output-buffer-limit", "normal 0 0 0 pubsub 32mb 8mb 60").Build()),
		Entry("one database", plain().Config("databases", "1").Build()),
		Entry("databases of five digits", plain().Config("databases", "99999").Build()),
		Entry("one thread", plain().Config("io-threads", "1").Build()),
		Entry("128 threads", plain().Config("io-threads", "128").Build()),
		Entry("tls", plain().TLS("chosen", "").Build()),
		Entry("tls with a name of 253", plain().TLS(strings.Repeat("a", 253), cachev1alpha1.RedisClientAuthOptional).Build()),
		Entry("Valkey", plain().Valkey().Config("hz", "20").Build()),
		Entry("a directive that only Redis has", plain().Config("dynamic-hz", "no").Build()),
		Entry("a name of 48", builders.Redis(strings.Repeat("a", 48)).Build()),
	)

	DescribeTable("refuses an edit", func(ctx SpecContext, obj *cachev1alpha1.Redis, change func(*cachev1alpha1.RedisSpec), field string) {
		obj.Namespace = kind{level: "restricted"}.newNamespace(ctx)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		err := edited(ctx, obj, change)
		if field == "" {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(err).To(MatchError(ContainSubstring(field)))
	},
		Entry("storage that shrinks to nothing", plain().Storage("2Gi").Build(),
			func(s *cachev1alpha1.RedisSpec) { s.Storage.Size = resource.MustParse("63Mi") }, "storage.size is a quantity from 64Mi on"),
		Entry("storage that grows", plain().Storage("2Gi").Build(),
			func(s *cachev1alpha1.RedisSpec) { s.Storage.Size = resource.MustParse("3Gi") }, ""),
		Entry("the same size in another unit", plain().Storage("2Gi").Build(),
			func(s *cachev1alpha1.RedisSpec) { s.Storage.Size = resource.MustParse("2048Mi") }, ""),
		Entry("storage that is dropped", plain().Storage("2Gi").Build(), func(s *cachev1alpha1.RedisSpec) { s.Storage = nil },
			"storage cannot be added or dropped"),
		Entry("storage that is added", plain().Build(), func(s *cachev1alpha1.RedisSpec) {
			s.Storage = &cachev1alpha1.RedisStorage{Size: resource.MustParse("1Gi")}
		}, "storage cannot be added or dropped"),
		Entry("another storage class", plain().Storage("2Gi").Build(),
			func(s *cachev1alpha1.RedisSpec) { s.Storage.StorageClassName = ptr.To("x") }, "storage.storageClassName"),
		Entry("tls that is added", plain().Build(), func(s *cachev1alpha1.RedisSpec) {
			s.TLS = &cachev1alpha1.RedisTLS{SecretName: "chosen"}
		}, "tls cannot be added or dropped"),
		Entry("tls that is dropped", plain().TLS("chosen", "").Build(), func(s *cachev1alpha1.RedisSpec) { s.TLS = nil },
			"tls cannot be added or dropped"),
		Entry("another clientAuth", plain().TLS("chosen", "").Build(), func(s *cachev1alpha1.RedisSpec) {
			s.TLS.ClientAuth = cachev1alpha1.RedisClientAuthRequired
		}, "tls.clientAuth cannot change"),
		Entry("another Secret for tls", plain().TLS("chosen", "").Build(),
			func(s *cachev1alpha1.RedisSpec) { s.TLS.SecretName = "other" }, ""),
		Entry("another flavor", plain().Build(), func(s *cachev1alpha1.RedisSpec) { s.Flavor = cachev1alpha1.FlavorValkey },
			"flavor cannot change"),
		Entry("the default flavor, given explicitly", plain().Build(), func(s *cachev1alpha1.RedisSpec) { s.Flavor = cachev1alpha1.FlavorRedis },
			""),
		Entry("a size below W + 1", plain().Size(3).MinReplicas(2).Build(), func(s *cachev1alpha1.RedisSpec) { s.Size = ptr.To[int32](2) },
			"durability.minReplicasToWrite"),
	)
})

func edited(ctx context.Context, obj *cachev1alpha1.Redis, change func(*cachev1alpha1.RedisSpec)) error {
	change(&obj.Spec)
	return admin.Update(ctx, obj)
}
