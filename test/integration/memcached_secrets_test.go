package integration

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("Memcached's certificate", func() {
	var (
		namespace string
		obj       *cachev1alpha1.Memcached
	)
	published := func(ctx context.Context) string {
		found := &corev1.Secret{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a-certificates"}, found); err != nil {
			return err.Error()
		}
		return string(found.Data["tls.crt"])
	}
	template := func(ctx context.Context) corev1.PodTemplateSpec {
		GinkgoHelper()
		set := &appsv1.StatefulSet{}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), set)).To(Succeed())
		return set.Spec.Template
	}

	BeforeEach(func(ctx SpecContext) {
		namespace = kind{level: "restricted"}.newNamespace(ctx)
		operate(namespace)
		obj = builders.Memcached("a").In(namespace).TLS("chosen", cachev1alpha1.MemcachedClientAuthRequire).Build()
	})

	It("is awaited, and nothing starts without a good one", func(ctx SpecContext) {
		startsWithNone(ctx, namespace, obj)

		give(ctx, namespace, certifier.Issue("a."+namespace+".svc"))
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		expectMessage(ctx, obj, commonv1.ConditionCertificatesInSync, "False Reloading: not known to use") // no server answers there
	})

	It("is given to the nodes as soon as it is valid", func(ctx SpecContext) { awaitsItsTime(ctx, namespace, obj) })

	It("stays the last good one while the Secret is of no use, and its object can still be changed", func(ctx SpecContext) {
		good := certifier.Issue("a." + namespace + ".svc")
		give(ctx, namespace, good)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		before := template(ctx)

		for words, data := range map[string]map[string][]byte{
			"there is no Secret":                nil,
			"has no key \"ca.crt\"":             without(good, "ca.crt"),
			"are not a certificate and its key": with(good, "tls.key", certifier.Issue("a." + namespace + ".svc")["tls.key"]),
		} {
			give(ctx, namespace, data)
			expectMessage(ctx, obj, commonv1.ConditionCertificatesInSync, words)
			expectMessage(ctx, obj, commonv1.ConditionDegraded, "True SecretUnusable: tls.secretName")
			Expect(published(ctx)).To(Equal(string(good["tls.crt"])))
		}
		update(ctx, obj, func(o client.Object) { o.(*cachev1alpha1.Memcached).Spec.Size = ptr.To[int32](2) })
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a-1"}, &corev1.Pod{})
		}).
			WithContext(ctx).Should(Succeed())

		renewed := certifier.Issue("a." + namespace + ".svc")
		give(ctx, namespace, renewed)
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "False")
		Expect(published(ctx)).To(Equal(string(renewed["tls.crt"])))
		Expect(template(ctx)).To(Equal(before), "a renewal takes no new pods")
	})

	It("is all that the sample with TLS asks for", func(ctx SpecContext) {
		content, err := os.ReadFile(filepath.Join(root, "config/samples/cache_v1alpha1_memcached_tls.yaml"))
		Expect(err).NotTo(HaveOccurred())
		obj = &cachev1alpha1.Memcached{}
		Expect(yaml.Unmarshal(content, obj)).To(Succeed())
		obj.Namespace = namespace
		Expect(admin.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: obj.Spec.TLS.SecretName},
			Type:       corev1.SecretTypeTLS, Data: certifier.Issue(obj.Name + "." + namespace + ".svc"),
		})).To(Succeed())
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
	})

	It("is not asked for before there is one, and what runs in the clear stays until then", func(ctx SpecContext) {
		obj.Spec.TLS = nil
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		before := template(ctx)
		update(ctx, obj, func(o client.Object) {
			o.(*cachev1alpha1.Memcached).Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "chosen"}
		})
		expectMessage(ctx, obj, commonv1.ConditionReady, "False InvalidSpec: tls.secretName")
		Expect(template(ctx)).To(Equal(before))

		give(ctx, namespace, certifier.Issue("a."+namespace+".svc"))
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		Expect(template(ctx)).NotTo(Equal(before))
		update(ctx, obj, func(o client.Object) { o.(*cachev1alpha1.Memcached).Spec.TLS = nil })
		Eventually(published).WithContext(ctx).Should(ContainSubstring("not found"))
		Eventually(func(g Gomega) {
			seen, err := live(ctx, obj)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(conditionOf(seen, commonv1.ConditionCertificatesInSync)).To(BeNil())
		}).WithContext(ctx).Should(Succeed())
	})
})

var _ = Describe("Memcached's users", func() {
	It("are awaited, known next to the earlier ones, and alone when every node knows them", func(ctx SpecContext) {
		namespace := kind{level: "restricted"}.newNamespace(ctx)
		operate(namespace)
		obj := builders.Memcached("a").In(namespace).Size(2).
			With(func(s *cachev1alpha1.MemcachedSpec) { s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "chosen"} }).Build()
		users := func(text string) { give(ctx, namespace, map[string][]byte{"users": []byte(text)}) }
		known := func() string {
			found := &corev1.Secret{}
			if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a-auth"}, found); err != nil {
				return err.Error()
			}
			return string(found.Data["revision"]) + ": " + string(found.Data["users"])
		}
		Expect(admin.Create(ctx, obj)).To(Succeed())
		expectMessage(ctx, obj, commonv1.ConditionReady, `False InvalidSpec: auth.secretName: there is no Secret "chosen"`)
		users("app one")
		expectMessage(ctx, obj, commonv1.ConditionDegraded,
			"auth.secretName: key \"users\" of Secret \"chosen\": line 1 is not <user>:<password>")
		Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(obj), &appsv1.StatefulSet{}))).To(BeTrue())

		users("app:one")
		expectMessage(ctx, obj, commonv1.ConditionCredentialsInSync, "True PasswordsAccepted")
		Expect(known()).To(Equal("1: app:one\n"))

		users("app:t w o")
		expectMessage(ctx, obj, commonv1.ConditionCredentialsInSync, "False SecretUnusable: auth.secretName: ")
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "True SecretUnusable: auth.secretName: ")
		expectMessage(ctx, obj, commonv1.ConditionReady, "; auth.secretName: ") // what a table shows
		Expect(known()).To(Equal("1: app:one\n"))

		users("app:two")
		expectMessage(ctx, obj, commonv1.ConditionCredentialsInSync, "True PasswordsAccepted")
		Expect(known()).To(Equal("3: app:two\n"), "2 was of both")
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "False")
		update(ctx, obj, func(o client.Object) { o.(*cachev1alpha1.Memcached).Spec.Auth = nil })
		Eventually(known).Should(ContainSubstring("not found"))
	})
})
