package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/audit"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

const (
	// resting is how long the operator is watched doing nothing: twice the longest time between two looks of a kind, and more.
	resting = 40 * time.Second
	// waking is how long a new leader is watched reading what there is: it has
	// looked at every object once long before.
	waking = 20 * time.Second
	// enoughWrites in that time, on the slowest of machines.
	enoughWrites = 1000
)

// auditLog is the API server's, on the cluster of hack/cluster.
var auditLog = audit.Log{Path: filepath.Join(root, ".cluster", "log", "audit.log")}

// operatorRequests are the requests since a position that the deployed operator has
// made and that a test is true for, as the API server has seen them.
func operatorRequests(since audit.Position, test func(audit.Request) bool) []audit.Request {
	GinkgoHelper()
	all, err := auditLog.By(operatorUser, since)
	Expect(err).NotTo(HaveOccurred())
	return audit.Matching(all, test)
}

// busy is any request but a lease's and a watch that is opened again.
func busy(r audit.Request) bool { return r.Resource != "leases" && r.Verb != "watch" }

// readAtStart is what a new leader reads, each once: the Secrets and ConfigMaps that objects name, and those that the operator
// made for its objects, to compare them. The caches have no content of any.
func readAtStart(ctx context.Context) []string {
	GinkgoHelper()
	all := []string{"get secrets/cache-tls", "get secrets/cache-users", "get secrets/web-secret", "get configmaps/web-config"}
	for _, resource := range []string{"Secret", "ConfigMap"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(resource + "List"))
		Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for i := range list.Items {
			if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && strings.Contains(owner.APIVersion, ".mainstay-operator.io/") {
				all = append(all, fmt.Sprintf("get %ss/%s", strings.ToLower(resource), list.Items[i].Name))
			}
		}
	}
	return all
}

// meddling is a request about one object of the spec's: what it takes to fill caches is not. What others have left in other namespaces
// has Secrets of its own, which a new leader reads, and may have been drained a moment ago.
func meddling(r audit.Request) bool {
	return busy(r) && r.Verb != "list" && r.Namespace == namespace && !confirms(r)
}

// confirms reports whether the operator asks whose an address is, as it does whenever it connects to a server of the Redis: how often a
// new leader connects before all rests is a matter of chance.
func confirms(r audit.Request) bool {
	return r.Verb == "get" && r.Resource == "pods" && strings.HasPrefix(r.Name, "sample-redis-")
}

var _ = Describe("The operator", Serial, Label(faults), func() {
	It("gets each kind there though its leader is killed, asks nothing of the API server at rest, and touches nothing after a restart",
		func(ctx SpecContext) {
			all := applySamples(ctx)
			killLeader(ctx)
			makeThoseThatRead(ctx)
			eventuallyArrived(ctx, all)
			var ran egov1.ActivityList
			Expect(k8s.List(ctx, &ran, client.InNamespace(namespace))).To(Succeed())
			Expect(ran.Items).To(HaveEach(HaveField("Status.Attempts", HaveLen(1))), "a command runs once")
			eventuallyOperatorLeads(ctx)
			eventuallyAlone(ctx, namespace)
			since := func(position audit.Position, test func(audit.Request) bool) func() []audit.Request {
				return func() []audit.Request { return operatorRequests(position, test) }
			}
			now := func() audit.Position {
				position, err := auditLog.Now()
				Expect(err).NotTo(HaveOccurred())
				return position
			}
			By("coming to rest")
			members := &databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample-etcd"}}
			refresh(ctx, members)
			Eventually(func() string { refresh(ctx, members); return members.Status.ClusterVersion }).WithContext(ctx).
				Should(Equal(members.Spec.Version), "new members agree on a version a while after they are ready")
			Eventually(func(g Gomega) {
				position := now()
				g.Consistently(since(position, busy)).WithTimeout(5 * time.Second).WithPolling(time.Second).Should(BeEmpty())
			}).WithContext(ctx).Should(Succeed())

			By("resting, while an application writes")
			written := &cachev1alpha1.Redis{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample-redis"}}
			refresh(ctx, written)
			w := writing(ctx, written)
			Consistently(since(now(), busy)).WithContext(ctx).WithTimeout(resting).WithPolling(5 * time.Second).Should(BeEmpty())
			Expect(w.Written()).To(BeNumerically(">", enoughWrites))

			By("restarting the operator")
			position, expected := now(), readAtStart(ctx)
			restartOperator(ctx)
			touched := func() []string {
				var all []string
				for _, r := range since(position, meddling)() {
					all = append(all, fmt.Sprintf("%s %s/%s", r.Verb, r.Resource, r.Name))
				}
				return all
			}
			Eventually(touched).WithContext(ctx).Should(ConsistOf(expected))
			Consistently(touched).WithContext(ctx).WithTimeout(waking).WithPolling(2 * time.Second).Should(ConsistOf(expected))
			Expect(since(position, func(r audit.Request) bool { return r.Verb == "watch" })()).NotTo(BeEmpty(), "it has started to watch")
		})
})

// makeThoseThatRead makes what the samples leave out: objects that depend on what users
// made, and a cache that is spoken with through its proxy.
func makeThoseThatRead(ctx context.Context) {
	GinkgoHelper()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	create(ctx, &corev1.Secret{ObjectMeta: named("cache-tls"), Type: corev1.SecretTypeTLS,
		Data: authority.New("e2e").Issue("cache." + namespace + ".svc")})
	create(ctx, &corev1.Secret{ObjectMeta: named("cache-users"), StringData: map[string]string{"users": "app:secret\n"}})
	create(ctx, &corev1.Secret{ObjectMeta: named("web-secret"), StringData: map[string]string{"token": "secret"}})
	create(ctx, &corev1.ConfigMap{ObjectMeta: named("web-config"), Data: map[string]string{"greeting": "hello"}})

	secured := builders.Memcached("cache").Memory("16Mi").TLS("cache-tls", cachev1alpha1.MemcachedClientAuthRequire).
		With(func(s *cachev1alpha1.MemcachedSpec) { s.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "cache-users"} }).Build()
	spread := builders.Memcached("spread").Size(2).Memory("16Mi").
		With(func(s *cachev1alpha1.MemcachedSpec) { s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true} }).Build()
	configured := builders.EasyService("configured").Ports(appv1.Port{Name: "http", Port: 80}).
		With(func(s *appv1.EasyServiceSpec) {
			s.ConfigRefs = []appv1.ConfigRef{{Kind: appv1.Secret, Name: "web-secret"}, {Kind: appv1.ConfigMap, Name: "web-config"}}
		}).Build()
	for _, obj := range []object{secured, spread, configured} {
		create(ctx, obj)
	}
	for _, obj := range []object{secured, spread, configured} {
		eventuallyReady(ctx, obj)
	}
	eventually(ctx, secured, commonv1.ConditionCertificatesInSync, metav1.ConditionTrue)
	eventually(ctx, secured, commonv1.ConditionCredentialsInSync, metav1.ConditionTrue)
}
