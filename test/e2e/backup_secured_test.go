package e2e

import (
	"crypto/x509"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("A Valkey that speaks TLS alone", func() {
	It("is backed up, and a new one of another authority begins with the backup", func(ctx SpecContext) {
		claim(ctx, "backups")
		store := builders.Volume("backups")
		secure := func(name string) *builders.RedisBuilder {
			certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-tls"}}
			certificate.Data = authority.New(name).Issue(name+"."+namespace+".svc", func(c *x509.Certificate) {
				c.DNSNames = append(c.DNSNames, name+"-replicas."+namespace+".svc")
			})
			create(ctx, certificate)
			return builders.Redis(name).Valkey().TLS(certificate.Name, "")
		}
		r := secure("data").Size(2).Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		w := writing(ctx, r)
		confirmed := w.Keys()
		b := builders.RedisBackup("nightly", r.Name, store).Build()
		create(ctx, b)
		eventually(ctx, b, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(b.Status.LastVerified).NotTo(BeNil())

		again := secure("again").Size(1).With(func(s *cachev1alpha1.RedisSpec) {
			s.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{Store: store, Name: b.Name}}
		}).Build()
		create(ctx, again)
		eventuallyReady(ctx, again)
		restored := redisKeys(ctx, redisClient(ctx, again, again.Name))
		Expect(missing(confirmed, restored)).To(BeEmpty(), "of %d confirmed before the backup", len(confirmed))
		Expect(missing(restored, w.Attempted())).To(BeEmpty(), "nobody wrote it")
	})
})
