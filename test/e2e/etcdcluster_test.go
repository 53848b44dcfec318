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
	"github.com/onsi/gomega/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

	It("keeps every key while it goes from 1 member to 3 and back, and restarts", func(ctx SpecContext) {
		e := builders.EtcdCluster("keys").Size(1).Storage("128Mi").
			With(func(s *databasev1alpha1.EtcdClusterSpec) { s.Storage.Retention = databasev1alpha1.EtcdDelete }).Build()
		w := keeps(ctx, e)
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Size = ptr.To[int32](3) })
		eventuallyReady(ctx, e)
		Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(3))
		w.continues(ctx)
		eventuallyOwnsClaims(ctx, e, 3)
		letStatefulSetOwnClaims(ctx, e)
		eventuallyOwnsClaims(ctx, e, 3)
		before := podUIDs(ctx, "etcd", "keys")
		kubectl(ctx, "rollout", "restart", "statefulset/keys", "--namespace", namespace)
		Eventually(func(g Gomega) {
			for name, uid := range podUIDs(ctx, "etcd", "keys") {
				g.Expect(before).NotTo(HaveKeyWithValue(name, uid))
			}
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, e)
		w.continues(ctx)
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Size = ptr.To[int32](1) })
		eventuallyReady(ctx, e)
		eventuallyOwnsClaims(ctx, e, 1)
		w.hasLostNothing(ctx)
	}, longest)

	It("uses a corrected spec, also for a pod that never ran", func(ctx SpecContext) {
		nowhere := map[string]string{"nowhere": "true"}
		e := builders.EtcdCluster("mistaken").With(func(s *databasev1alpha1.EtcdClusterSpec) { s.Scheduling.NodeSelector = nowhere }).Build()
		create(ctx, e)
		Eventually(func(g Gomega) {
			g.Expect(podsOf(ctx, "etcd", e.Name)).To(HaveLen(3))
			g.Expect(conditionNow(ctx, e, commonv1.ConditionDegraded).Status).To(Equal(metav1.ConditionTrue))
		}).WithContext(ctx).Should(Succeed())
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.NodeSelector = nil })
		eventuallyReady(ctx, e)
		w := puttingBy(ctx, dialEtcd(e, nil))

		By("an image that cannot be pulled, while the others run")
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) {
			e.Spec.Version, e.Spec.Image = e.Status.TargetVersion, e.Status.TargetImage+"-typo"
		})
		eventuallyNotPulled(ctx, "etcd", e.Name)
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Image = "" })
		eventuallyReady(ctx, e)
		w.hasLostNothing(ctx)
	}, longest)

	It("returns to the former minor version while one member runs it", Label(faults), func(ctx SpecContext) {
		Expect(cluster.Provide(ctx, "etcd-images")).To(Succeed())
		e := builders.EtcdCluster("return").Version("3.6").Storage("128Mi").Build()
		w := keeps(ctx, e)
		before, image := e.Status.Members, e.Status.TargetImage
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "another"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/instance": e.Name}},
		}}
		create(ctx, budget) // no pod is replaced but by hand
		replace := func(name string) {
			GinkgoHelper()
			Expect(k8s.Delete(ctx, podNamed(ctx, name))).To(Succeed())
		}

		By("one member runs the next minor version")
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Version = "3.7" })
		eventuallyMadeWith(ctx, e, HavePrefix("3.7."), Not(Equal(image)))
		replace("return-2")
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(3))
			g.Expect(e.Status.Members[2].Version).To(HavePrefix("3.7."))
		}).WithContext(ctx).Should(Succeed())

		By("the image of the next pod cannot be pulled")
		missing := e.Status.TargetImage + "-typo"
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Image = missing })
		eventuallyMadeWith(ctx, e, HavePrefix("3.7."), Equal(missing))
		replace("return-1")
		eventuallyNotPulled(ctx, "etcd", e.Name)
		Expect(k8s.Delete(ctx, budget)).To(Succeed())

		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Version, e.Spec.Image = "3.6", "" })
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.Version).To(HavePrefix("3.6."), "conditions: %+v", e.Status.Conditions)
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, e)
		Expect(e.Status.ClusterVersion).To(Equal("3.6"))
		Expect(e.Status.TargetImage).To(Equal(image))
		for i, m := range before {
			Expect(e.Status.Members[i].ID).To(Equal(m.ID), "no member is replaced")
		}
		w.hasLostNothing(ctx)
	}, longest)

	It("continues from one member's data only when a human allows it", Label(faults), func(ctx SpecContext) {
		e := builders.EtcdCluster("last").Storage("128Mi").Build()
		w := keeps(ctx, e)
		w.stop()
		Eventually(func() string { // what a member has not applied may be dropped when it continues alone
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
		put := func(key, value string) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := etcd.Put(ctx, key, value)
				return err
			}
		}
		const small, value, room = 1000, 1 << 19, 16<<20 - 3<<19 // keys; bytes; bytes that may be in use when the alarm ends
		for i := range small {
			Expect(put(fmt.Sprintf("small/%04d", i), "x")(ctx)).To(Succeed())
		}
		large := 0
		fill := func(ctx context.Context) error {
			large++
			return put(fmt.Sprintf("large/%02d", large), strings.Repeat("x", value))(ctx)
		}
		isRefused := MatchError(ContainSubstring("database space exceeded"))
		Eventually(fill).WithContext(ctx).Should(isRefused)
		// While much of the file is free pages, the operator defragments it, and writes are accepted again. What is in use by the status
		// includes copies that etcd has yet to free, so the values are counted: once they are too much, only who deletes keys ends the alarm.
		Eventually(func(g Gomega) {
			g.Expect(fill(ctx)).To(isRefused)
			stored, err := etcd.Get(ctx, "large/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stored.Count * value).To(BeNumerically(">=", room))
			degraded := conditionNow(ctx, e, commonv1.ConditionDegraded)
			g.Expect(degraded.Reason).To(Equal(commonv1.ReasonNoSpace), degraded.Message)
		}).WithContext(ctx).Should(Succeed())

		By("deleting without a pause: each delete makes a newer revision")
		deleting, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			for i := 0; i < small && deleting.Err() == nil; i++ {
				_, _ = etcd.Delete(deleting, fmt.Sprintf("small/%04d", i))
				select {
				case <-deleting.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		}()
		Eventually(func(ctx context.Context) error { // a server that is being defragmented may not answer in time
			_, err := etcd.Delete(ctx, "large/", clientv3.WithPrefix())
			return err
		}).WithContext(ctx).Should(Succeed())
		Eventually(put("one", "short")).WithContext(ctx).Should(Succeed())
		eventually(ctx, e, commonv1.ConditionDegraded, metav1.ConditionFalse)
	})
})

// conditionNow is a condition as it is now.
func conditionNow(ctx context.Context, e *databasev1alpha1.EtcdCluster, kind string) metav1.Condition {
	refresh(ctx, e)
	return condition(e, kind)
}

// eventuallyMadeWith waits until new pods are made with such a version and image.
func eventuallyMadeWith(ctx context.Context, e *databasev1alpha1.EtcdCluster, version, image types.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		refresh(ctx, e)
		g.Expect(e.Status.TargetVersion).To(version)
		g.Expect(e.Status.TargetImage).To(image)
		var set appsv1.StatefulSet
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(e), &set)).To(Succeed())
		g.Expect(set.Spec.Template.Spec.Containers).To(ContainElement(HaveField("Image", e.Status.TargetImage)))
		g.Expect(set.Status.ObservedGeneration).To(Equal(set.Generation))
	}).WithContext(ctx).Should(Succeed())
}

// claimsOf are the claims of an EtcdCluster's members.
func claimsOf(ctx context.Context, e *databasev1alpha1.EtcdCluster) []corev1.PersistentVolumeClaim {
	GinkgoHelper()
	var list corev1.PersistentVolumeClaimList
	Expect(k8s.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/instance": e.Name})).To(Succeed())
	return list.Items
}

// eventuallyOwnsClaims waits until so many claims are left, of the lowest ordinals, and the EtcdCluster alone owns them.
func eventuallyOwnsClaims(ctx context.Context, e *databasev1alpha1.EtcdCluster, count int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var names []string
		for _, claim := range claimsOf(ctx, e) {
			names = append(names, claim.Name)
			g.Expect(claim.OwnerReferences).To(HaveExactElements(HaveField("UID", e.UID)), claim.Name)
		}
		var want []string
		for i := range count {
			want = append(want, fmt.Sprintf("data-%s-%d", e.Name, i))
		}
		g.Expect(names).To(ConsistOf(want))
	}).WithContext(ctx).Should(Succeed())
}

// letStatefulSetOwnClaims leaves everything as release 0.2.0-rc.1 did with retention Delete, and lets the operator continue.
func letStatefulSetOwnClaims(ctx context.Context, e *databasev1alpha1.EtcdCluster) {
	GinkgoHelper()
	edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Paused = true })
	eventually(ctx, e, commonv1.ConditionPaused, metav1.ConditionTrue)
	for _, claim := range claimsOf(ctx, e) {
		kubectl(ctx, "patch", "persistentvolumeclaim", claim.Name, "--namespace", namespace, "--type=merge", "--patch",
			`{"metadata":{"ownerReferences":null}}`)
	}
	kubectl(ctx, "patch", "statefulset", e.Name, "--namespace", namespace, "--type=merge", // its controller looks at the claims then
		"--patch", `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Delete"}}}`)
	Eventually(func(g Gomega) {
		for _, claim := range claimsOf(ctx, e) {
			g.Expect(claim.OwnerReferences).To(HaveExactElements(HaveField("Kind", "StatefulSet")), claim.Name)
		}
	}).WithContext(ctx).Should(Succeed())
	edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Paused = false })
}

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

// puttingBy starts to put keys by a client, until the spec ends or stop is called.
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
	w.continues(ctx)
	return w
}

// continues waits until further keys are acknowledged.
func (p *putter) continues(ctx context.Context) {
	GinkgoHelper()
	Eventually(p.acked.Load).WithContext(ctx).Should(BeNumerically(">", p.acked.Load()+20))
}

// confirmed are the keys that were acknowledged so far.
func (p *putter) confirmed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.keys)
}

// attempted are the keys that were sent so far, acknowledged or not.
func (p *putter) attempted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tried)
}

// lastKey is the last one that was acknowledged.
func (p *putter) lastKey() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[len(p.keys)-1]
}

// hasLostNothing ends the writing, and reads all keys that were acknowledged.
func (p *putter) hasLostNothing(ctx context.Context) {
	GinkgoHelper()
	p.stop()
	var kept map[string]bool
	Eventually(func(ctx context.Context) error {
		reply, err := p.etcd.Get(ctx, p.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		kept = map[string]bool{}
		if err == nil {
			for _, kv := range reply.Kvs {
				kept[string(kv.Key)] = true
			}
		}
		return err
	}).WithContext(ctx).Should(Succeed())
	var lost []string
	for _, key := range p.keys {
		if !kept[key] {
			lost = append(lost, key)
		}
	}
	Expect(lost).To(BeEmpty(), "of %d that were acknowledged", len(p.keys))
}
