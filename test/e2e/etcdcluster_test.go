package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

const (
	// etcdData is where a member keeps its data.
	etcdData = "/var/lib/etcd"
	// etcdPort is where members serve clients.
	etcdPort = 2379
)

var _ = Describe("EtcdCluster", func() {
	keeps := func(ctx context.Context, e *databasev1alpha1.EtcdCluster) *putter {
		GinkgoHelper()
		create(ctx, e)
		eventuallyReady(ctx, e)
		return puttingBy(ctx, dialEtcd(e, nil))
	}

	It("keeps every key while it goes from 1 member to 3, 5, 3 and 1, and restarts", func(ctx SpecContext) {
		e := builders.EtcdCluster("keys").Size(1).Storage("128Mi").Build()
		w := keeps(ctx, e)
		for _, size := range []int32{3, 5, 3} {
			edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Size = ptr.To(size) })
			eventuallyReady(ctx, e)
			Expect(e.Status.ReadyReplicas).To(Equal(size))
			w.goesOn(ctx)
		}
		before := podUIDs(ctx, "etcd", "keys")
		kubectl(ctx, "rollout", "restart", "statefulset/keys", "--namespace", namespace)
		Eventually(func(g Gomega) {
			for name, uid := range podUIDs(ctx, "etcd", "keys") {
				g.Expect(before).NotTo(HaveKeyWithValue(name, uid))
			}
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, e)
		w.goesOn(ctx)
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Size = ptr.To[int32](1) })
		eventuallyReady(ctx, e)
		w.hasLostNothing(ctx)
	}, longest)

	It("goes from 3.5 to 3.7 by one edit, and keeps every key", Label(faults), func(ctx SpecContext) {
		Expect(cluster.Provide(ctx, "etcd-images")).To(Succeed())
		e := builders.EtcdCluster("ladder").Version("3.5").Storage("128Mi").Build()
		w := keeps(ctx, e)
		Eventually(func(g Gomega) { // members agree on it after the first of them serves
			refresh(ctx, e)
			g.Expect(e.Status.ClusterVersion).To(Equal("3.5"))
		}).WithContext(ctx).Should(Succeed())
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Version = "3.7" })
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.Version).To(HavePrefix("3.7."))
			g.Expect(e.Status.ClusterVersion).To(Equal("3.7"))
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, e)
		w.hasLostNothing(ctx)
	}, longest)

	It("replaces a member that has lost its data, under another ID", Label(faults), func(ctx SpecContext) {
		e := builders.EtcdCluster("disk").Storage("128Mi").Build()
		w := keeps(ctx, e)
		lost := e.Status.Members[2]
		pod := podsOf(ctx, "etcd", "disk")[2]
		Expect(fault.WipeDisk(pod.UID, "etcd", etcdData)).To(Succeed())
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(3))
			g.Expect(e.Status.Members[2].ID).NotTo(Equal(lost.ID))
		}).WithContext(ctx).Should(Succeed())
		w.hasLostNothing(ctx)
	})

	It("goes on from one member's data only when a human allows it", Label(faults), func(ctx SpecContext) {
		e := builders.EtcdCluster("last").Storage("128Mi").Build()
		w := keeps(ctx, e)
		w.stop()
		Eventually(func() string { // what a member has not applied may be dropped when it goes on alone
			return kubectl(ctx, "exec", "last-2", "--container", "etcd", "--", "etcdctl", "get", w.lastKey(), "--consistency=s", "--keys-only")
		}).WithContext(ctx).Should(ContainSubstring(w.lastKey()))
		pods := podsOf(ctx, "etcd", "last")
		Expect(fault.WipeDisk(pods[0].UID, "etcd", etcdData)).To(Succeed())
		Expect(fault.WipeDisk(pods[1].UID, "etcd", etcdData)).To(Succeed())
		Expect(fault.Kill(pods[2].UID, "etcd")).To(Succeed()) // from now on it answers no clients
		var token string
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			degraded := condition(e, commonv1.ConditionDegraded)
			g.Expect(degraded.Reason).To(Equal(commonv1.ReasonQuorumLost), degraded.Message)
			_, rest, _ := strings.Cut(degraded.Message, databasev1alpha1.EtcdAllowUnsafeRecovery+"=")
			token, _, _ = strings.Cut(rest, ";") // what fails in the pods comes after it
			g.Expect(token).NotTo(BeEmpty(), degraded.Message)
		}).WithContext(ctx).Should(Succeed())

		By("refusing a token of something else")
		allow := func(token string) {
			edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) {
				e.Annotations = map[string]string{databasev1alpha1.EtcdAllowUnsafeRecovery: token}
			})
		}
		allow("anything")
		Consistently(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.Membership.Change).To(BeNil())
			g.Expect(condition(e, commonv1.ConditionDegraded).Status).To(Equal(metav1.ConditionTrue))
		}).WithContext(ctx).WithTimeout(3 * time.Second).Should(Succeed())

		By("taking the one that the message gives")
		allow(token)
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.Membership.Change).To(BeNil())
			g.Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(3))
		}).WithContext(ctx).Should(Succeed())
		Expect(e.Status.LastRecovery.Member).To(Equal("last-2"))
		Expect(e.Status.LastRecovery.Lost).To(ConsistOf("last-0", "last-1"))
		Expect(e.Status.LastRecovery.Revision).To(BeNumerically(">", 1))
		w.hasLostNothing(ctx) // last-2 had all
	})

	It("takes writes again when what is in use is below the quota", func(ctx SpecContext) {
		e := builders.EtcdCluster("full").Size(1).Storage("256Mi").Quota("16Mi").Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		etcd := dialEtcd(e, nil)
		value := strings.Repeat("x", 1<<20)
		Eventually(func(ctx context.Context) error {
			_, err := etcd.Put(ctx, "one", value)
			return err
		}).WithContext(ctx).Should(MatchError(ContainSubstring("database space exceeded")))
		Eventually(func(ctx context.Context) error {
			_, err := etcd.Put(ctx, "one", "short")
			return err
		}).WithContext(ctx).Should(Succeed())
	})
})

// dialEtcd gives a client of the Service, by TLS if secure is not nil.
func dialEtcd(e *databasev1alpha1.EtcdCluster, secure *tls.Config) *clientv3.Client {
	GinkgoHelper()
	etcd, err := traffic.Etcd(network, traffic.Service{Namespace: e.Namespace, Name: e.Name, Port: etcdPort}, secure, "", "")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(etcd.Close)
	return etcd
}

// putter puts one key after the other, and remembers those that were acknowledged.
type putter struct {
	etcd   *clientv3.Client
	prefix string
	acked  atomic.Int64
	mu     sync.Mutex
	tried  []string
	keys   []string
	stop   func()
}

// puttingBy begins to put keys by a client, until the spec ends or stop is called.
func puttingBy(ctx context.Context, etcd *clientv3.Client) *putter {
	GinkgoHelper()
	return puttingUnder(ctx, etcd, "key-")
}

// puttingUnder does so with keys of that prefix.
func puttingUnder(ctx context.Context, etcd *clientv3.Client, prefix string) *putter {
	GinkgoHelper()
	w := &putter{etcd: etcd, prefix: prefix}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	var writing sync.WaitGroup
	w.stop = sync.OnceFunc(func() { stop(); writing.Wait() })
	DeferCleanup(w.stop)
	writing.Go(func() {
		for i := 0; run.Err() == nil; i++ {
			key := fmt.Sprintf("%s%06d", prefix, i)
			w.mu.Lock()
			w.tried = append(w.tried, key)
			w.mu.Unlock()
			attempt, done := context.WithTimeout(run, time.Second)
			_, err := w.etcd.Put(attempt, key, key)
			done()
			if err == nil {
				w.mu.Lock()
				w.keys = append(w.keys, key)
				w.mu.Unlock()
				w.acked.Add(1)
			}
		}
	})
	w.goesOn(ctx)
	return w
}

// goesOn waits until further keys are acknowledged.
func (w *putter) goesOn(ctx context.Context) {
	GinkgoHelper()
	Eventually(w.acked.Load).WithContext(ctx).Should(BeNumerically(">", w.acked.Load()+20))
}

// confirmed are the keys that were acknowledged so far.
func (w *putter) confirmed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.keys)
}

// attempted are the keys that were sent so far, acknowledged or not.
func (w *putter) attempted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.tried)
}

// lastKey is the last one that was acknowledged.
func (w *putter) lastKey() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys[len(w.keys)-1]
}

// hasLostNothing ends the writing, and reads all keys that were acknowledged.
func (w *putter) hasLostNothing(ctx context.Context) {
	GinkgoHelper()
	w.stop()
	var kept map[string]bool
	Eventually(func(ctx context.Context) error {
		reply, err := w.etcd.Get(ctx, w.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		kept = map[string]bool{}
		if err == nil {
			for _, kv := range reply.Kvs {
				kept[string(kv.Key)] = true
			}
		}
		return err
	}).WithContext(ctx).Should(Succeed())
	var lost []string
	for _, key := range w.keys {
		if !kept[key] {
			lost = append(lost, key)
		}
	}
	Expect(lost).To(BeEmpty(), "of %d that were acknowledged", len(w.keys))
}
