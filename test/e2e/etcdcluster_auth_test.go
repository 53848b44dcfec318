package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

var _ = Describe("EtcdCluster with passwords", func() {
	It("lets in who has the password, and changes it under a writer while a member loses its disk", Label(faults), func(ctx SpecContext) {
		chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "guarded-password"}, Data: map[string][]byte{"password": []byte("first")}}
		create(ctx, chosen)
		e := builders.EtcdCluster("guarded").Storage("128Mi").Auth(chosen.Name).Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		eventually(ctx, e, commonv1.ConditionCredentialsInSync, metav1.ConditionTrue)

		By("refusing who has not logged in, and who has another password")
		put := func(etcd *clientv3.Client) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := etcd.Put(ctx, "greeting", "hello")
				return err
			}
		}
		Eventually(put(dialEtcd(e, nil))).WithContext(ctx).Should(MatchError(ContainSubstring("user name is empty")))
		former := secretOf(ctx, "guarded-binding")
		Expect(string(former.Data["password"])).To(Equal("first"))
		user := string(former.Data["username"])
		Eventually(func() error {
			_, err := dialEtcdAs(e, user, "another")
			return err
		}).WithContext(ctx).Should(MatchError(ContainSubstring("authentication failed")))

		By("changing the password while a member loses its disk")
		writer, err := dialEtcdAs(e, user, "first")
		Expect(err).NotTo(HaveOccurred())
		w := puttingBy(ctx, writer)
		lost := e.Status.Members[2]
		Expect(fault.WipeDisk(podsOf(ctx, "etcd", e.Name)[2].UID, "etcd", etcdData)).To(Succeed())
		edit(ctx, chosen, func(s *corev1.Secret) { s.Data["password"] = []byte("second") })
		Eventually(func(g Gomega) {
			g.Expect(string(secretOf(ctx, "guarded-binding").Data["password"])).To(Equal("second"))
		}).WithContext(ctx).Should(Succeed())
		w.continues(ctx) // by the user before
		next := secretOf(ctx, "guarded-binding")
		Expect(next.Data["username"]).NotTo(Equal(former.Data["username"]))
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(3))
			g.Expect(e.Status.Members[2].ID).NotTo(Equal(lost.ID))
		}).WithContext(ctx).Should(Succeed())
		eventually(ctx, e, commonv1.ConditionCredentialsInSync, metav1.ConditionTrue)
		w.stop()
		w.etcd, err = dialEtcdAs(e, string(next.Data["username"]), "second")
		Expect(err).NotTo(HaveOccurred())
		w.hasLostNothing(ctx)

		By("taking a snapshot as the user for that")
		taking := secretOf(ctx, "guarded-backup")
		backup, err := dialEtcdAs(e, string(taking.Data["username"]), string(taking.Data["password"]))
		Expect(err).NotTo(HaveOccurred())
		snapshot, err := backup.Snapshot(ctx)
		Expect(err).NotTo(HaveOccurred())
		defer snapshot.Close() //nolint:errcheck // enough was seen
		first := make([]byte, 1)
		_, err = snapshot.Read(first)
		Expect(err).NotTo(HaveOccurred())
	}, longest)
})

// secretOf is the Secret of that name.
func secretOf(ctx context.Context, name string) *corev1.Secret {
	GinkgoHelper()
	found := &corev1.Secret{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)).To(Succeed())
	return found
}

// dialEtcdAs gives a client of the Service that has logged in.
func dialEtcdAs(e *databasev1alpha1.EtcdCluster, user, password string) (*clientv3.Client, error) {
	etcd, err := traffic.Etcd(network, traffic.Service{Namespace: e.Namespace, Name: e.Name, Port: etcdPort}, nil, user, password)
	if err == nil {
		DeferCleanup(etcd.Close)
	}
	return etcd, err
}
