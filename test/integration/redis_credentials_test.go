package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

const inSync = commonv1.ConditionCredentialsInSync

var _ = Describe("Redis' passwords", func() {
	const first, second = "first-pass w@rd", "second-password"
	var (
		namespace string
		o         *operator
		obj       *cachev1alpha1.Redis
		servers   map[string]*redisServer
		app       *application
	)
	master := func() *redisServer { return servers[obj.Status.Master] }
	secret := func(ctx context.Context, name string) *corev1.Secret {
		GinkgoHelper()
		found := &corev1.Secret{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)).To(Succeed())
		return found
	}
	choose := func(ctx context.Context, data map[string]string) {
		GinkgoHelper()
		chosen := secret(ctx, "chosen")
		chosen.Data, chosen.StringData = nil, data
		Expect(admin.Update(ctx, chosen)).To(Succeed())
	}
	everywhere := func(password string) error {
		for name, s := range servers {
			if err := s.login("default", password); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
	says := func(ctx context.Context, words ...string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			read, err := live(ctx, obj)
			g.Expect(err).NotTo(HaveOccurred())
			c := conditionOf(read, inSync)
			g.Expect(c).NotTo(BeNil())
			for _, word := range words {
				g.Expect(c.Reason + ": " + c.Message).To(ContainSubstring(word))
			}
		}).Should(Succeed())
	}
	serves := func(ctx context.Context, reason string) {
		GinkgoHelper()
		Eventually(checkCondition).WithArguments(ctx, obj, inSync, metav1.ConditionTrue, reason).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
	}

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		Expect(admin.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chosen"}, StringData: map[string]string{"password": first}})).To(Succeed())
		o = operate(namespace)
		obj = builders.Redis("a").Size(2).MinReplicas(0).With(func(s *cachev1alpha1.RedisSpec) {
			s.Auth = &cachev1alpha1.RedisAuth{SecretName: "chosen"}
		}).Build()
		obj.Namespace = namespace
		Expect(admin.Create(ctx, obj)).To(Succeed())
		servers = serve(ctx, namespace, "a", 2)
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionFailoverPossible, metav1.ConditionTrue).Should(Succeed())
		serves(ctx, commonv1.ReasonPasswordsAccepted)
		app = use(namespace, "a", master())
		Eventually(app.done.Load).Should(BeNumerically(">", 50))
	})
	AfterEach(func() {
		Expect(app.failures()).To(Succeed())
		for _, s := range servers {
			s.stop()
		}
	})

	It("change under traffic, overlap, and no operation fails", func(ctx SpecContext) {
		choose(ctx, map[string]string{"password": second})
		serves(ctx, commonv1.ReasonPasswordsOverlap)
		Expect(secret(ctx, "a-auth").Data).To(HaveKeyWithValue("password", []byte(second)))
		Expect(everywhere(second)).To(Succeed())
		Expect(everywhere(first)).To(Succeed(), "for clients that do not know the new one yet")
		var retired []struct{ Until time.Time }
		Expect(json.Unmarshal(secret(ctx, "a-system").Data["retired"], &retired)).To(Succeed())
		Expect(retired).To(HaveExactElements(HaveField("Until", BeTemporally("~", time.Now().Add(5*time.Minute), time.Minute))))

		By("a node that starts from files older than the change")
		for name, s := range servers {
			if name != obj.Status.Master {
				s.stop()
				s.start()
			}
		}
		Eventually(everywhere).WithArguments(second).Should(Succeed())
		By("a node that starts from new files accepts both by itself")
		Expect(usersOf(secret(ctx, "a-files"))[0]).To(MatchRegexp(`^user default on #[0-9a-f]{64} #[0-9a-f]{64} `))

		By("the operator is away when the overlap ends, long after applications read the Secret")
		Eventually(func() string { return *app.mounted.Load() }).Should(Equal(second))
		o.stop()
		system := secret(ctx, "a-system")
		var list []map[string]any
		Expect(json.Unmarshal(system.Data["retired"], &list)).To(Succeed())
		list[0]["until"] = time.Now().Add(-time.Second)
		system.Data["retired"], _ = json.Marshal(list)
		Expect(admin.Update(ctx, system)).To(Succeed())
		o = operate(namespace)
		for _, s := range servers {
			Eventually(func() error { return s.login("default", first) }).Should(MatchError(ContainSubstring("WRONGPASS")))
		}
		Expect(everywhere(second)).To(Succeed())
		serves(ctx, commonv1.ReasonPasswordsAccepted)
		Expect(usersOf(secret(ctx, "a-files"))[0]).NotTo(MatchRegexp(`#[0-9a-f]{64} #`), "nor after a restart of theirs")
		waitForRest(o)
		nowhere(ctx, obj, first, second)
	})

	It("of the operator itself are replaced when a human asks, by one operator after the other", func(ctx SpecContext) {
		former := string(secret(ctx, "a-system").Data["_operator"])
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		asked := obj.DeepCopy()
		metav1.SetMetaDataAnnotation(&asked.ObjectMeta, cachev1alpha1.RedisRotatePasswords, "once")
		Expect(admin.Patch(ctx, asked, client.MergeFrom(obj))).To(Succeed())
		for _, stage := range []string{"used from", "accepted until"} {
			says(ctx, commonv1.ReasonRotating, stage)
			o.stop()
			system := secret(ctx, "a-system")
			var rotation map[string]any
			Expect(json.Unmarshal(system.Data["rotation"], &rotation)).To(Succeed())
			rotation["until"] = time.Now().Add(-time.Second)
			system.Data["rotation"], _ = json.Marshal(rotation)
			Expect(admin.Update(ctx, system)).To(Succeed())
			for name, s := range servers {
				Expect(s.login("_operator", former)).To(Succeed(), name)
			}
			o = operate(namespace)
		}
		serves(ctx, commonv1.ReasonPasswordsAccepted)
		for name, s := range servers {
			Expect(s.login("_operator", former)).To(MatchError(ContainSubstring("WRONGPASS")), name)
			Expect(s.login("_operator", string(secret(ctx, "a-system").Data["_operator"]))).To(Succeed(), name)
		}
		waitForRest(o)
		nowhere(ctx, obj, former, string(secret(ctx, "a-system").Data["_operator"]))
	})

	It("stay when the user's Secret is lost or malformed, over a restart and a failover", func(ctx SpecContext) {
		Expect(admin.Delete(ctx, secret(ctx, "chosen"))).To(Succeed())
		says(ctx, commonv1.ReasonSecretUnusable, "auth.secretName", `"chosen"`, `"password"`)
		o.stop()
		o = operate(namespace)
		says(ctx, commonv1.ReasonSecretUnusable)
		Expect(everywhere(first)).To(Succeed())
		Expect(secret(ctx, "a-auth").Data).To(HaveKeyWithValue("password", []byte(first)))

		By("its malformed successors")
		Expect(admin.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chosen"}, StringData: map[string]string{"pass": second}})).To(Succeed())
		says(ctx, "auth.secretName", "no key", `"password"`)
		choose(ctx, map[string]string{"password": second + "\n"})
		says(ctx, "auth.secretName", `key "password"`, "newline")
		Expect(checkCondition(ctx, obj, commonv1.ConditionDegraded, metav1.ConditionTrue, commonv1.ReasonSecretUnusable)).To(Succeed())
		Expect(app.failures()).To(Succeed())

		By("the master's end")
		before := app.done.Load()
		Eventually(app.done.Load).Should(BeNumerically(">", before+50))
		old := obj.Status.Master
		servers[old].stop()
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			g.Expect(obj.Status.Master).NotTo(Equal(old))
		}).Should(Succeed())
		app.forgive()

		By("a good one")
		servers[old].start()
		choose(ctx, map[string]string{"password": second})
		serves(ctx, commonv1.ReasonPasswordsOverlap)
		Eventually(everywhere).WithArguments(second).Should(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionDegraded, metav1.ConditionFalse).Should(Succeed())
		app.forgive()
	})

	It("come back when our own Secrets are lost", func(ctx SpecContext) {
		lose := func(names ...string) {
			GinkgoHelper()
			for _, name := range names {
				Expect(admin.Delete(ctx, secret(ctx, name))).To(Succeed())
			}
		}
		same := func(before *corev1.Secret) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				now := &corev1.Secret{}
				g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(before), now)).To(Succeed())
				g.Expect(now.UID).NotTo(Equal(before.UID))
				g.Expect(now.Data).To(Equal(before.Data))
			}).Should(Succeed())
		}
		auth, system, files, dumps := secret(ctx, "a-auth"), secret(ctx, "a-system"), secret(ctx, "a-files"), secret(ctx, "a-backup")
		By("all while the operator runs")
		lose("a-auth", "a-system", "a-files", "a-backup")
		same(auth)
		same(dumps)
		same(system)
		same(files)

		By("one of the operator's own while it does not")
		system = secret(ctx, "a-system")
		o.stop()
		lose("a-system")
		o = operate(namespace)
		same(system)

		By("the applications' too: their password is known to the user's Secret")
		auth = secret(ctx, "a-auth")
		o.stop()
		lose("a-auth")
		o = operate(namespace)
		same(auth)
		serves(ctx, commonv1.ReasonPasswordsAccepted)

		By("both of the operator's: it is locked out, touches nothing, and the way out is to restore one")
		system = secret(ctx, "a-system")
		runs := fmt.Sprint(obj.Status.Nodes)
		o.stop()
		lose("a-system", "a-files")
		o = operate(namespace)
		says(ctx, commonv1.ReasonLockedOut, `Restore Secret "a-system"`, "before you delete a pod")
		Expect(everywhere(first)).To(Succeed())
		Consistently(o.Calls).WithArguments(func(c fault.Call) bool { return c.Verb == "delete" }).Should(BeEmpty())
		lost := secret(ctx, "a-system")
		lost.Data = system.Data
		Expect(admin.Update(ctx, lost)).To(Succeed())
		serves(ctx, commonv1.ReasonPasswordsAccepted)
		Expect(fmt.Sprint(obj.Status.Nodes)).To(Equal(runs), "no server was restarted")
		Expect(secret(ctx, "a-system").Data).To(Equal(system.Data))
	})
})

func usersOf(files *corev1.Secret) []string {
	return strings.Split(string(files.Data["users.acl"]), "\n")
}

// nowhere but in Secrets are the passwords.
func nowhere(ctx context.Context, obj client.Object, passwords ...string) {
	GinkgoHelper()
	read, err := live(ctx, obj)
	Expect(err).NotTo(HaveOccurred())
	var events eventsv1.EventList
	Expect(admin.List(ctx, &events, client.InNamespace(obj.GetNamespace()))).To(Succeed())
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(obj.GetNamespace()))).To(Succeed())
	text, err := json.Marshal([]any{read, events, pods})
	Expect(err).NotTo(HaveOccurred())
	for _, password := range passwords {
		Expect(string(text)).NotTo(ContainSubstring(password))
	}
}

var _ = It("A Redis that never had a password waits for the user's Secret, naming the field", func(ctx SpecContext) {
	namespace := newNamespace(ctx)
	operate(namespace)
	obj := builders.Redis("a").With(func(s *cachev1alpha1.RedisSpec) {
		s.Auth = &cachev1alpha1.RedisAuth{SecretName: "late"}
	}).Build()
	obj.Namespace = namespace
	Expect(admin.Create(ctx, obj)).To(Succeed())
	Eventually(checkCondition).WithArguments(ctx, obj, inSync, metav1.ConditionFalse, commonv1.ReasonSecretUnusable).Should(Succeed())
	Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionDegraded, metav1.ConditionTrue,
		commonv1.ReasonInvalidSpec).Should(Succeed())
	read, err := live(ctx, obj)
	Expect(err).NotTo(HaveOccurred())
	Expect(conditionOf(read, commonv1.ConditionDegraded).Message).To(And(ContainSubstring("auth.secretName"), ContainSubstring(`"late"`)))
	Expect(childrenIn(ctx, namespace)).To(BeEmpty())
	Expect(admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "late"}, StringData: map[string]string{"password": "p"}})).To(Succeed())
	Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionDegraded, metav1.ConditionFalse).Should(Succeed())
	read, err = live(ctx, obj)
	Expect(err).NotTo(HaveOccurred())
	Expect(conditionOf(read, inSync)).To(BeNil(), "no server has answered")
	Expect(childrenIn(ctx, namespace)).NotTo(BeEmpty())
})
