package e2e

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

// certify makes a Secret with a certificate of an authority of its own, for the Service of that name and another one.
func certify(ctx context.Context, name, other string) *corev1.Secret {
	GinkgoHelper()
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-tls"}}
	made.Data = authority.New(name).Issue(name+"."+namespace+".svc", func(c *x509.Certificate) {
		c.DNSNames = append(c.DNSNames, other+"."+namespace+".svc")
	})
	create(ctx, made)
	return made
}

// readWithoutLogin reads from the first member of an EtcdCluster again and again, at its pod and without a login. It starts before there is
// a member. The returned function ends that, and returns how many reads etcd has refused for lack of a login, and how many it has answered.
func readWithoutLogin(ctx context.Context, e *databasev1alpha1.EtcdCluster) func() (refused, let int) {
	var refused, let int
	run, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	read := func() {
		pod := &corev1.Pod{}
		if k8s.Get(run, client.ObjectKey{Namespace: namespace, Name: e.Name + "-0"}, pod) != nil || pod.Status.PodIP == "" {
			return
		}
		url := fmt.Sprintf("http://%s/v3/kv/range", net.JoinHostPort(pod.Status.PodIP, fmt.Sprint(etcdPort)))
		all := strings.NewReader(`{"key":"AA==","range_end":"AA==","serializable":true}`)
		request, err := http.NewRequestWithContext(run, http.MethodPost, url, all)
		if err != nil {
			return
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return // no server listens yet
		}
		defer reply.Body.Close() //nolint:errcheck // enough was seen
		switch text, _ := io.ReadAll(reply.Body); {
		case reply.StatusCode == http.StatusOK:
			let++
		case strings.Contains(string(text), "user name is empty"):
			refused++
		}
	}
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-run.Done():
				return
			case <-tick.C:
				read()
			}
		}
	}()
	DeferCleanup(stop)
	return func() (int, int) { stop(); <-ended; return refused, let }
}

var _ = Describe("What is behind certificates is backed up, and a new one of another authority starts with it:", longest, func() {
	It("an etcd 3.5 that asks for a login, and one of 3.6", Label(faults), func(ctx SpecContext) {
		Expect(cluster.Provide(ctx, "etcd-images")).To(Succeed())
		claim(ctx, "backups")
		store := builders.Volume("backups")
		secure := func(name, version string) *builders.EtcdClusterBuilder {
			create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-password"},
				StringData: map[string]string{"password": "of " + name}})
			certificate := certify(ctx, name, "*."+name+"-headless")
			return builders.EtcdCluster(name).Version(version).Size(1).Auth(name+"-password").TLS(certificate.Name,
				databasev1alpha1.EtcdClientAuthRequired)
		}
		dial := func(name string) *clientv3.Client {
			binding, certificate := secretOf(ctx, name+"-binding").Data, secretOf(ctx, name+"-tls").Data
			var etcd *clientv3.Client
			Eventually(func() (err error) { // kube-proxy takes up to a second to open the Service
				etcd, err = traffic.Etcd(network, traffic.Service{Namespace: namespace, Name: name, Port: etcdPort},
					showing(certificate["ca.crt"], name, certificate), string(binding["username"]), string(binding["password"]))
				return err
			}).WithContext(ctx).Should(Succeed())
			DeferCleanup(etcd.Close)
			return etcd
		}
		e, unsecured := secure("keys", "3.5").Build(), builders.EtcdCluster("unsecured").Version("3.5").Size(1).Build()
		create(ctx, e)
		create(ctx, unsecured)
		eventuallyReady(ctx, unsecured)
		putting := puttingBy(ctx, dialEtcd(unsecured, nil))
		ofUnsecured := putting.confirmed()
		unsecuredBackup := builders.EtcdBackup("unsecured", unsecured.Name, store).Build()
		create(ctx, unsecuredBackup)
		eventuallyReady(ctx, e)
		eventually(ctx, e, commonv1.ConditionCredentialsInSync, metav1.ConditionTrue)
		w := puttingBy(ctx, dial(e.Name))
		confirmed := w.confirmed()
		b := builders.EtcdBackup("nightly", e.Name, store).Build()
		create(ctx, b)
		eventually(ctx, b, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(b.Status.LastVerified).To(HaveValue(HaveField("ServerVersion", HavePrefix("3.5."))))

		By("refusing it to one without auth, before anything is formed")
		open := builders.EtcdCluster("open").Version("3.6").Size(1).With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Bootstrap = &databasev1alpha1.EtcdBootstrap{Backup: commonv1.BackupReference{Store: store, Name: b.Name}}
		}).Build()
		create(ctx, open)

		By("restoring the backup of an etcd without auth into one with auth, which answers no read without a login")
		eventually(ctx, unsecuredBackup, commonv1.ConditionComplete, metav1.ConditionTrue)
		putting.stop()
		secured := builders.EtcdCluster("secured").Version("3.6").Size(1).Auth("again-password").With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Bootstrap = &databasev1alpha1.EtcdBootstrap{Backup: commonv1.BackupReference{Store: store, Name: unsecuredBackup.Name}}
		}).Build()
		endReads := readWithoutLogin(ctx, secured)

		again := secure("again", "3.6").With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Bootstrap = &databasev1alpha1.EtcdBootstrap{Backup: commonv1.BackupReference{Store: store, Name: b.Name}}
		}).Build()
		create(ctx, again)
		create(ctx, secured)
		eventuallyReady(ctx, again)
		eventually(ctx, again, commonv1.ConditionCredentialsInSync, metav1.ConditionTrue)
		eventually(ctx, secured, commonv1.ConditionCredentialsInSync, metav1.ConditionTrue)
		refused, let := endReads()
		GinkgoWriter.Printf("%d reads without a login were refused\n", refused)
		Expect(refused).NotTo(BeZero())
		Expect(let).To(BeZero(), "next to %d that were refused", refused)
		binding := secretOf(ctx, "secured-binding").Data
		var owner *clientv3.Client
		Eventually(func() (err error) { // as above
			owner, err = dialEtcdAs(secured, string(binding["username"]), string(binding["password"]))
			return err
		}).WithContext(ctx).Should(Succeed())
		Expect(missing(ofUnsecured, etcdKeys(ctx, owner))).To(BeEmpty(), "of %d confirmed before the backup", len(ofUnsecured))
		restored := etcdKeys(ctx, dial(again.Name))
		Expect(missing(confirmed, restored)).To(BeEmpty(), "of %d confirmed before the backup", len(confirmed))
		Expect(missing(restored, w.attempted())).To(BeEmpty(), "no client wrote it")
		Eventually(func(g Gomega) {
			degraded := conditionNow(ctx, open, commonv1.ConditionDegraded)
			g.Expect(degraded.Reason).To(Equal(commonv1.ReasonBackupUnusable), degraded.Message)
			g.Expect(degraded.Message).To(ContainSubstring("asks for a login"))
			g.Expect(open.Status.Membership).To(BeNil())
		}).WithContext(ctx).Should(Succeed())
	})

	It("a Valkey", func(ctx SpecContext) {
		claim(ctx, "backups")
		store := builders.Volume("backups")
		secure := func(name string) *builders.RedisBuilder {
			return builders.Redis(name).Valkey().TLS(certify(ctx, name, name+"-replicas").Name, "")
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
		Expect(missing(restored, w.Attempted())).To(BeEmpty(), "no client wrote it")
	})
})
