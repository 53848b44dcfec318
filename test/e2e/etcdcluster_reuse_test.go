package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("EtcdCluster that is deleted by mistake", func() {
	It("reuses its volumes when it is applied again", Label(faults), func(ctx SpecContext) {
		chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "mistake-password"}, Data: map[string][]byte{"password": []byte("first")}}
		create(ctx, chosen)
		manifest := func() *databasev1alpha1.EtcdCluster {
			return builders.EtcdCluster("mistake").Storage("128Mi").Auth(chosen.Name).Build()
		}
		e := manifest()
		create(ctx, e)
		eventuallyReady(ctx, e)
		login := func(g Gomega) *clientv3.Client { // the binding follows once its user is let in
			binding := &corev1.Secret{}
			g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "mistake-binding"}, binding)).To(Succeed())
			etcd, err := dialEtcdAs(e, string(binding.Data["username"]), string(binding.Data["password"]))
			g.Expect(err).NotTo(HaveOccurred())
			return etcd
		}
		Eventually(func(g Gomega, ctx context.Context) {
			_, err := login(g).Put(ctx, "greeting", "hello")
			g.Expect(err).NotTo(HaveOccurred())
		}).WithContext(ctx).Should(Succeed())
		before := e.Status.Membership

		Expect(k8s.Delete(ctx, e)).To(Succeed())
		eventuallyGone(ctx, e)
		e = manifest()
		create(ctx, e)
		eventuallyReady(ctx, e)
		Expect(e.Status.Membership.ClusterID).To(Equal(before.ClusterID))
		Expect(e.Status.Membership.Members).To(HaveLen(3))
		for i, member := range e.Status.Membership.Members {
			Expect(member.DataID).To(Equal(before.Members[i].DataID), member.Name)
		}
		Eventually(func(g Gomega, ctx context.Context) {
			found, err := login(g).Get(ctx, "greeting")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Kvs).To(HaveLen(1))
			g.Expect(string(found.Kvs[0].Value)).To(Equal("hello"))
		}).WithContext(ctx).Should(Succeed())
	}, longest)
})
