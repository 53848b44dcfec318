package integration

import (
	"context"
	"crypto/x509"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("An EtcdCluster's certificate", func() {
	var (
		namespace string
		obj       *databasev1alpha1.EtcdCluster
		running   *operator
	)
	valueIn := func(ctx context.Context, secret, key string) string {
		found := &corev1.Secret{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: secret}, found); err != nil {
			return err.Error()
		}
		return string(found.Data[key])
	}
	published := func(ctx context.Context) string { return valueIn(ctx, "a-certificates", "tls.crt") }
	BeforeEach(func(ctx SpecContext) {
		namespace = kind{level: "restricted"}.newNamespace(ctx)
		running = operate(namespace)
		obj = builders.EtcdCluster("a").In(namespace).Size(1).TLS("chosen", databasev1alpha1.EtcdClientAuthRequired).Build()
	})

	It("is awaited, and nothing starts without a good one", func(ctx SpecContext) {
		startsWithNone(ctx, namespace, obj)
		give(ctx, namespace, certifier.Issue("a."+namespace+".svc"))
		expectMessage(ctx, obj, commonv1.ConditionDegraded, `Secret "chosen": the certificate does not name a-0.a-headless.`+namespace+".svc")
		give(ctx, namespace, issueForMembers("a", namespace))
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKeyFromObject(obj), &appsv1.StatefulSet{})
		}).WithContext(ctx).Should(Succeed())
	})

	It("stays the last good one while the Secret is of no use", func(ctx SpecContext) {
		good, other := issueForMembers("a", namespace), authority.New("other")
		give(ctx, namespace, good)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		expectMessage(ctx, obj, commonv1.ConditionCertificatesInSync, "False Reloading: not known to use") // no server answers there
		Expect(published(ctx)).To(Equal(string(good["tls.crt"])))
		Expect(valueIn(ctx, "a-binding", "ca.crt")).To(Equal(string(good["ca.crt"])))
		Expect(valueIn(ctx, "a-binding", "endpoints")).To(Equal("https://a-0.a-headless." + namespace + ".svc:2379"))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		Expect(obj.Status.Binding).To(Equal(&databasev1alpha1.EtcdBinding{Name: "a-binding"}))

		for words, data := range map[string]map[string][]byte{
			"there is no Secret":                nil,
			"has no key \"ca.crt\"":             without(good, "ca.crt"),
			"are not a certificate and its key": with(good, "tls.key", issueForMembers("a", namespace)["tls.key"]),
			"no authority in ca.crt vouches":    with(good, "ca.crt", other.PEM()),
		} {
			give(ctx, namespace, data)
			expectMessage(ctx, obj, commonv1.ConditionCertificatesInSync, words)
			expectMessage(ctx, obj, commonv1.ConditionDegraded, "True SecretUnusable: tls.secretName")
			Expect(published(ctx)).To(Equal(string(good["tls.crt"])))
		}
		Expect(client.IgnoreNotFound(admin.Delete(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-certificates"}}))).To(Succeed())
		Eventually(published).WithContext(ctx).Should(Equal(string(good["tls.crt"])), "what the members show was lost with ours")

		renewed := issueForMembers("a", namespace)
		give(ctx, namespace, renewed)
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "False")
		Eventually(published).WithContext(ctx).Should(Equal(string(renewed["tls.crt"])))
	})

	It("is not replaced by another authority's when ours is lost, and the operator is restarted", func(ctx SpecContext) {
		good := issueForMembers("a", namespace)
		give(ctx, namespace, good)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(func(g Gomega) {
			var pod corev1.Pod
			g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a-0"}, &pod)).To(Succeed())
			g.Expect(pod.Status.ContainerStatuses).To(ContainElement(HaveField("State.Running", Not(BeNil()))))
		}).WithContext(ctx).Should(Succeed())
		running.stop()
		Expect(admin.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-certificates"}})).To(Succeed())
		give(ctx, namespace, authority.New("other").Issue("a."+namespace+".svc", func(c *x509.Certificate) {
			c.DNSNames = append(c.DNSNames, "*.a-headless."+namespace+".svc")
		}))

		operate(namespace)
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "True ClientCertificatesLost")
		Expect(published(ctx)).To(ContainSubstring("not found"))
		give(ctx, namespace, good)
		Eventually(published).WithContext(ctx).Should(Equal(string(good["tls.crt"])))
	})
})
