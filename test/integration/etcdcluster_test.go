package integration

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// Its pods have no servers here, so it comes to rest before its members meet, and its size cannot change: e2e does that.
var _ = register(kind{
	name:            "EtcdCluster",
	sampleFile:      "database_v1alpha1_etcdcluster.yaml",
	maxStatusWrites: 6,
	sample:          func() client.Object { return fullEtcdCluster() },
	edit: func(obj client.Object) {
		obj.(*databasev1alpha1.EtcdCluster).Spec = builders.EtcdCluster("").Size(1).Version("3.6").Storage("1Gi").Auth("chosen").TLS("chosen",
			databasev1alpha1.EtcdClientAuthRequired).With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Image, s.Storage.StorageClassName = "example.org/etcd:edited", ptr.To("fast")
		}).Build().Spec
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
	kept:   []string{"StatefulSet/full [spec template spec initContainers 0 image]"}, // that of the operator which made the pods
	paused: func(obj client.Object, paused bool) { obj.(*databasev1alpha1.EtcdCluster).Spec.Paused = paused },
	prerequisite: func(namespace string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chosen"},
			Data: with(issueForMembers("full", namespace), "password", []byte("secret"))}
	},
	asks: "get secrets chosen",
})

// issueForMembers makes a certificate for the Service and the members of the EtcdCluster of that name.
func issueForMembers(name, namespace string) map[string][]byte {
	return certifier.Issue(name+"."+namespace+".svc", func(c *x509.Certificate) {
		c.DNSNames = append(c.DNSNames, "*."+name+"-headless."+namespace+".svc")
	})
}

// fullEtcdCluster sets every optional field but paused, none to its default.
func fullEtcdCluster() *databasev1alpha1.EtcdCluster {
	return builders.EtcdCluster("full").Size(1).Version("3.6").Storage("1Gi").Quota("1Gi").Auth("chosen").TLS("chosen",
		databasev1alpha1.EtcdClientAuthRequired).
		With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Image = "example.org/etcd:full"
			s.Storage.StorageClassName, s.Storage.Retention = ptr.To("fast"), databasev1alpha1.EtcdDelete
			s.AutoCompaction = &databasev1alpha1.EtcdAutoCompaction{Mode: databasev1alpha1.EtcdRevision, Retention: "10000"}
			s.Defrag = &databasev1alpha1.EtcdDefrag{Threshold: 50}
			s.Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
			s.NetworkPolicy = &commonv1.NetworkPolicy{}
			s.PodOptions = builders.FullPodOptions()
		}).Build()
}

var _ = Describe("EtcdCluster", func() {
	plain := func() *builders.EtcdClusterBuilder { return builders.EtcdCluster("a") }
	with := func(change func(*databasev1alpha1.EtcdClusterSpec)) client.Object {
		return plain().With(change).Build()
	}

	DescribeTable("is refused", func(obj client.Object, field string) { reject(obj, field) },
		Entry("no member", plain().Size(0).Build(), "spec.size"),
		Entry("an even number", plain().Size(2).Build(), "size must be 1, 3 or 5"),
		Entry("too many members", plain().Size(7).Build(), "size must be 1, 3 or 5"),
		Entry("a version that is none", plain().Version("latest").Build(), "version must be"),
		Entry("an earlier version", plain().Version("3.4").Build(), "version must be"),
		Entry("a version of later", plain().Version("3.8").Build(), "version must be"),
		Entry("a version with a v", plain().Version("v3.6.16").Build(), "version must be"),
		Entry("an image with a space", with(func(s *databasev1alpha1.EtcdClusterSpec) { s.Image = "etcd latest" }), "spec.image"),
		Entry("a tiny volume", plain().Storage("63Mi").Build(), "storage.size"),
		Entry("an empty storage class", plain().Storage("1Gi").With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Storage.StorageClassName = ptr.To("")
		}).Build(), "spec.storage.storageClassName"),
		Entry("a tiny quota", plain().Quota("15Mi").Build(), "quota is a quantity"),
		Entry("a quota that etcd advises against", plain().Quota("9Gi").Build(), "quota is a quantity"),
		Entry("a quota that the volume cannot hold", plain().Storage("1Gi").Quota("2Gi").Build(), "quota cannot be more than storage.size"),
		Entry("an image of an unknown version", with(func(s *databasev1alpha1.EtcdClusterSpec) { s.Image = "etcd:mine" }), "image needs version"),
		Entry("a compaction by words", with(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.AutoCompaction = &databasev1alpha1.EtcdAutoCompaction{Mode: databasev1alpha1.EtcdPeriodic, Retention: "a day"}
		}), "autoCompaction.retention"),
		Entry("a compaction of no mode", with(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.AutoCompaction = &databasev1alpha1.EtcdAutoCompaction{Mode: "Always", Retention: "1h"}
		}), "spec.autoCompaction.mode"),
		Entry("a threshold that is always reached", with(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Defrag = &databasev1alpha1.EtcdDefrag{Threshold: 9}
		}), "spec.defrag.threshold"),
		Entry("a threshold beyond all pages", with(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Defrag = &databasev1alpha1.EtcdDefrag{Threshold: 96}
		}), "spec.defrag.threshold"),
		Entry("tls without a Secret", plain().TLS("", "").Build(), "spec.tls.secretName"),
		Entry("tls with a name too long", plain().TLS(strings.Repeat("a", 254), "").Build(), "spec.tls.secretName"),
		Entry("tls with the operator's own certificate", plain().TLS("a-certificates", "").Build(),
			"tls.secretName names a Secret that the operator writes"),
		Entry("tls with the members' certificate", plain().TLS("a-peers", "").Build(), "tls.secretName"),
		Entry("tls with the members' authority", plain().TLS("a-authority", "").Build(), "tls.secretName"),
		Entry("tls with the binding", plain().TLS("a-binding", "").Build(), "tls.secretName"),
		Entry("a clientAuth that etcd has not", plain().TLS("chosen", "Optional").Build(), "spec.tls.clientAuth"),
		Entry("auth without a Secret", plain().Auth("").Build(), "spec.auth.secretName"),
		Entry("auth with a name too long", plain().Auth(strings.Repeat("a", 254)).Build(), "spec.auth.secretName"),
		Entry("auth with the operator's own passwords", plain().Auth("a-system").Build(),
			"auth.secretName names a Secret that the operator writes"),
		Entry("auth with the binding", plain().Auth("a-binding").Build(), "auth.secretName names a Secret that the operator writes"),
		Entry("tls with the operator's own passwords", plain().TLS("a-system", "").Build(), "tls.secretName"),
		Entry("a name that makes no Service", builders.EtcdCluster(strings.Repeat("a", 49)).Build(), "metadata.name"),
	)

	stored := func(class *string) *databasev1alpha1.EtcdCluster {
		return plain().Storage("1Gi").With(func(s *databasev1alpha1.EtcdClusterSpec) { s.Storage.StorageClassName = class }).Build()
	}
	compacted := func(mode databasev1alpha1.EtcdCompactionMode, retention string) client.Object {
		return with(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.AutoCompaction = &databasev1alpha1.EtcdAutoCompaction{Mode: mode, Retention: retention}
		})
	}
	DescribeTable("is accepted at the edge", func(obj client.Object) { accept(obj) },
		Entry("nothing said", plain().Build()),
		Entry("size 1", plain().Size(1).Build()),
		Entry("size 5", plain().Size(5).Build()),
		Entry("the earliest minor version", plain().Version("3.5").Build()),
		Entry("the latest minor version", plain().Version("3.7").Build()),
		Entry("a patch of three digits", plain().Version("3.6.999").Build()),
		Entry("image of 512", plain().Version("3.7").With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Image = strings.Repeat("a", 512)
		}).Build()),
		Entry("storage of 64Mi", plain().Storage("64Mi").Build()),
		Entry("a storage class of 253", stored(ptr.To(strings.Repeat("a", 253)))),
		Entry("quota of 16Mi", plain().Quota("16Mi").Build()),
		Entry("quota of 8Gi", plain().Quota("8Gi").Build()),
		Entry("quota as large as the volume", plain().Storage("1Gi").Quota("1Gi").Build()),
		Entry("compaction by a time of five digits", compacted(databasev1alpha1.EtcdPeriodic, "99999s")),
		Entry("compaction down to one revision", compacted(databasev1alpha1.EtcdRevision, "1")),
		Entry("compaction by nine digits", compacted(databasev1alpha1.EtcdRevision, "999999999")),
		Entry("a threshold of 10", with(func(s *databasev1alpha1.EtcdClusterSpec) { s.Defrag = &databasev1alpha1.EtcdDefrag{Threshold: 10} })),
		Entry("a threshold of 95", with(func(s *databasev1alpha1.EtcdClusterSpec) { s.Defrag = &databasev1alpha1.EtcdDefrag{Threshold: 95} })),
		Entry("a password Secret of 253", plain().Auth(strings.Repeat("a", 253)).Build()),
		Entry("a name of 48", builders.EtcdCluster(strings.Repeat("a", 48)).Build()),
	)

	DescribeTable("is refused a change", func(obj client.Object, change func(*databasev1alpha1.EtcdClusterSpec), field string) {
		rejectUpdate(obj, func(obj client.Object) { change(&obj.(*databasev1alpha1.EtcdCluster).Spec) }, field)
	},
		Entry("storage that is dropped", plain().Storage("1Gi").Build(),
			func(s *databasev1alpha1.EtcdClusterSpec) { s.Storage = nil }, "storage cannot be added or dropped"),
		Entry("storage that is added", plain().Build(), func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Storage = &databasev1alpha1.EtcdStorage{Size: resource.MustParse("1Gi")}
		}, "storage cannot be added or dropped"),
		Entry("a storage class that is set", stored(nil),
			func(s *databasev1alpha1.EtcdClusterSpec) { s.Storage.StorageClassName = ptr.To("fast") }, "storage.storageClassName cannot change"),
		Entry("another storage class", stored(ptr.To("fast")),
			func(s *databasev1alpha1.EtcdClusterSpec) { s.Storage.StorageClassName = ptr.To("slow") }, "storage.storageClassName cannot change"),
		Entry("a storage class that is dropped", stored(ptr.To("fast")),
			func(s *databasev1alpha1.EtcdClusterSpec) { s.Storage.StorageClassName = nil }, "storage.storageClassName cannot change"),
		Entry("tls that is added", plain().Build(), func(s *databasev1alpha1.EtcdClusterSpec) {
			s.TLS = &databasev1alpha1.EtcdTLS{SecretName: "chosen"}
		}, "tls cannot be added or dropped"),
		Entry("tls that is dropped", plain().TLS("chosen", "").Build(), func(s *databasev1alpha1.EtcdClusterSpec) { s.TLS = nil },
			"tls cannot be added or dropped"),
		Entry("auth that is added", plain().Build(), func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Auth = &databasev1alpha1.EtcdAuth{SecretName: "chosen"}
		}, "auth cannot be added or dropped"),
		Entry("auth that is dropped", plain().Auth("chosen").Build(), func(s *databasev1alpha1.EtcdClusterSpec) { s.Auth = nil },
			"auth cannot be added or dropped"),
		Entry("another clientAuth", plain().TLS("chosen", "").Build(), func(s *databasev1alpha1.EtcdClusterSpec) {
			s.TLS.ClientAuth = databasev1alpha1.EtcdClientAuthRequired
		}, "tls.clientAuth cannot change"),
	)

	DescribeTable("takes a change", func(obj client.Object, change func(*databasev1alpha1.EtcdClusterSpec)) {
		acceptUpdate(obj, func(obj client.Object) { change(&obj.(*databasev1alpha1.EtcdCluster).Spec) })
	},
		Entry("more storage", stored(ptr.To("fast")), func(s *databasev1alpha1.EtcdClusterSpec) { s.Storage.Size = resource.MustParse("2Gi") }),
		Entry("less storage, as what was refused can be taken back", stored(nil), func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Storage.Size = resource.MustParse("64Mi")
		}),
		Entry("another retention", stored(nil), func(s *databasev1alpha1.EtcdClusterSpec) { s.Storage.Retention = databasev1alpha1.EtcdDelete }),
	)

	It("takes its certificate from another Secret", func() {
		acceptUpdate(plain().TLS("chosen", "").Build(),
			func(obj client.Object) { obj.(*databasev1alpha1.EtcdCluster).Spec.TLS.SecretName = "other" })
	})

	// running is one whose pods are made with the target version, while the members have agreed on another, and the spec asks for a third.
	running := func(ctx context.Context, spec, target, agreed string) *databasev1alpha1.EtcdCluster {
		GinkgoHelper()
		obj := created(plain().Version(spec).Build()).(*databasev1alpha1.EtcdCluster)
		obj.Status.TargetVersion, obj.Status.ClusterVersion = target, agreed
		Expect(admin.Status().Update(ctx, obj)).To(Succeed())
		return obj
	}
	DescribeTable("is refused a version", func(ctx SpecContext, spec, target, agreed, next string) {
		obj := running(ctx, spec, target, agreed)
		obj.Spec.Version = next
		Expect(admin.Update(ctx, obj)).To(MatchError(ContainSubstring("spec.version: Invalid value")))
	},
		Entry("an earlier minor version than the members have agreed on", "3.7", "3.7.3", "3.7", "3.6"),
		Entry("an earlier minor version with its patch", "3.6.16", "3.6.16", "3.6", "3.5.35"),
		Entry("two minor versions earlier", "3.7", "3.7.3", "", "3.5"),
		Entry("an earlier one than an upgrade has come to", "3.7", "3.6.16", "3.6", "3.5"),
		Entry("an earlier one than the default", "", "3.7.3", "3.7", "3.6"),
	)

	DescribeTable("takes another version", func(ctx SpecContext, spec, target, agreed, next string) {
		obj := running(ctx, spec, target, agreed)
		obj.Spec.Version = next
		Expect(admin.Update(ctx, obj)).To(Succeed())
	},
		Entry("an earlier patch", "3.6", "3.6.16", "3.6", "3.6.15"),
		Entry("that of an upgrade that has come no further", "3.7", "3.6.16", "3.6", "3.6.15"),
		Entry("the minor version that the members have agreed on, while pods are made with the next", "3.7", "3.7.3", "3.6", "3.6"),
		Entry("a patch of it", "3.7", "3.7.3", "3.6", "3.6.12"),
		Entry("the minor version before, while it is not known what the members have agreed on", "3.7", "3.7.3", "", "3.6"),
		Entry("the previous one, while nothing runs", "3.7", "", "", "3.6"),
		Entry("none", "3.6", "3.6.16", "3.6", ""),
	)

	It("accepts a status that has passed the version which the spec asks for", func(ctx SpecContext) {
		obj := running(ctx, "3.7", "3.7.3", "3.6")
		obj.Spec.Version = "3.6"
		Expect(admin.Update(ctx, obj)).To(Succeed())
		obj.Status.TargetVersion = "3.6.16"
		Expect(admin.Status().Update(ctx, obj)).To(Succeed())
		obj.Status.TargetVersion, obj.Status.ClusterVersion = "3.7.3", "3.7"
		Expect(admin.Status().Update(ctx, obj)).To(Succeed())
	})
})
