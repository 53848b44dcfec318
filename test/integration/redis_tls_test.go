package integration

import (
	"context"
	"crypto/x509"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("Redis' certificate", func() {
	var (
		namespace string
		obj       *cachev1alpha1.Redis
	)
	read := func(ctx context.Context, name string) (*corev1.Secret, error) {
		found := &corev1.Secret{}
		return found, admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)
	}
	published := func(ctx context.Context) string {
		found, err := read(ctx, "a-certificates")
		if err != nil {
			return err.Error()
		}
		return string(found.Data["version"])
	}
	BeforeEach(func(ctx SpecContext) {
		namespace = kind{level: "restricted"}.newNamespace(ctx)
		operate(namespace)
		obj = builders.Redis("a").TLS("chosen", cachev1alpha1.RedisClientAuthRequired).Build()
		obj.Namespace = namespace
	})

	It("is awaited, and nothing starts without a good one", func(ctx SpecContext) {
		startsWithNone(ctx, namespace, obj)
		give(ctx, namespace, certifier.Issue("a."+namespace+".svc"))
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKeyFromObject(obj), &appsv1.StatefulSet{})
		}).WithContext(ctx).Should(Succeed())
	})

	It("is given to the nodes as soon as it is valid", func(ctx SpecContext) { awaitsItsTime(ctx, namespace, obj) })

	It("stays the last good one while the Secret is of no use", func(ctx SpecContext) {
		good := certifier.Issue("a." + namespace + ".svc")
		give(ctx, namespace, good)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		expectMessage(ctx, obj, commonv1.ConditionCertificatesInSync, "False Reloading") // there are no servers to load it
		before := published(ctx)
		Expect(before).To(HaveLen(16))

		for words, data := range map[string]map[string][]byte{
			"there is no Secret":                nil,
			"has no key \"ca.crt\"":             without(good, "ca.crt"),
			"are not a certificate and its key": with(good, "tls.key", certifier.Issue("a." + namespace + ".svc")["tls.key"]),
		} {
			give(ctx, namespace, data)
			expectMessage(ctx, obj, commonv1.ConditionCertificatesInSync, words)
			expectMessage(ctx, obj, commonv1.ConditionDegraded, "True SecretUnusable: tls.secretName")
			Expect(published(ctx)).To(Equal(before))
		}
		Expect(client.IgnoreNotFound(admin.Delete(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-certificates"}}))).To(Succeed())
		Eventually(published).WithContext(ctx).Should(Equal(before), "what the servers use was lost with ours")

		give(ctx, namespace, good)
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "False")
		expectMessage(ctx, obj, commonv1.ConditionCertificatesInSync, "False Reloading")
	})
})

// give the Secret "chosen" this content, or none.
func give(ctx context.Context, namespace string, data map[string][]byte) {
	GinkgoHelper()
	chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chosen"}, Data: data}
	Expect(client.IgnoreNotFound(admin.Delete(ctx, &corev1.Secret{ObjectMeta: chosen.ObjectMeta}))).To(Succeed())
	if data != nil {
		Expect(admin.Create(ctx, chosen)).To(Succeed())
	}
}

// expectMessage waits until a condition of the object holds these words.
func expectMessage(ctx context.Context, obj client.Object, conditionType, words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		seen, err := live(ctx, obj)
		g.Expect(err).NotTo(HaveOccurred())
		c := conditionOf(seen, conditionType)
		g.Expect(c).NotTo(BeNil())
		g.Expect(string(c.Status) + " " + c.Reason + ": " + c.Message).To(ContainSubstring(words))
	}).WithContext(ctx).Should(Succeed())
}

func without(data map[string][]byte, key string) map[string][]byte {
	less := maps.Clone(data)
	delete(less, key)
	return less
}

func with(data map[string][]byte, key string, value []byte) map[string][]byte {
	other := maps.Clone(data)
	other[key] = value
	return other
}

// startsWithNone shows that an object with TLS makes nothing before its certificate is fit.
func startsWithNone(ctx context.Context, namespace string, obj client.Object) {
	GinkgoHelper()
	Expect(admin.Create(ctx, obj)).To(Succeed())
	expectMessage(ctx, obj, commonv1.ConditionReady, `False InvalidSpec: tls.secretName: there is no Secret "chosen"`)
	give(ctx, namespace, map[string][]byte{"tls.crt": []byte("words")})
	expectMessage(ctx, obj, commonv1.ConditionReady, `tls.secretName: Secret "chosen" has no key "tls.key"`)
	give(ctx, namespace, certifier.Issue("elsewhere.svc"))
	expectMessage(ctx, obj, commonv1.ConditionDegraded,
		"True InvalidSpec: tls.secretName: Secret \"chosen\": the certificate does not name a."+namespace+".svc")
	expectMessage(ctx, obj, commonv1.ConditionCertificatesInSync, "False SecretUnusable: tls.secretName")
	Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(obj), &appsv1.StatefulSet{}))).To(BeTrue())
}

// awaitsItsTime shows that a certificate which is not valid yet is looked at again when it
// is, though nothing else happens then: the first, and the one after it.
func awaitsItsTime(ctx context.Context, namespace string, obj client.Object) {
	GinkgoHelper()
	shortly := func(until string) (starts time.Time) {
		starts = time.Now().Add(6 * time.Second).Truncate(time.Second)
		give(ctx, namespace, certifier.Issue("a."+namespace+".svc", func(c *x509.Certificate) { c.NotBefore = starts }))
		if obj.GetUID() == "" {
			Expect(admin.Create(ctx, obj)).To(Succeed())
		}
		expectMessage(ctx, obj, commonv1.ConditionDegraded,
			"True "+until+": tls.secretName: Secret \"chosen\": the certificate is not valid before")
		return starts
	}
	starts := shortly(commonv1.ReasonInvalidSpec)
	Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(obj), &appsv1.StatefulSet{}) }).
		WithContext(ctx).Should(Succeed())
	Expect(time.Now()).To(BeTemporally(">=", starts))

	starts = shortly(commonv1.ReasonSecretUnusable)
	expectMessage(ctx, obj, commonv1.ConditionDegraded, "False")
	Expect(time.Now()).To(BeTemporally(">=", starts))
}
