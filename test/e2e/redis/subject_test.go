package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	goredis "github.com/redis/go-redis/v9"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

const (
	program = "redis-server"
	port    = 6379
	// stillness before a fault: kube-proxy takes one change a second, and what is
	// measured starts in calm.
	stillness = 2 * time.Second
	// enoughWrites show that writes continue.
	enoughWrites = 50
)

// subject is one Redis that an application writes to, and all that watches it.
type subject struct {
	*cachev1alpha1.Redis
	confirming, plain *fault.Writer
	endpoints         *fault.Endpoints
	servers           *fault.Servers
	stop              func()          // the writing
	follow            func() error    // what happens, again: the API server was away
	hasHostileServers bool            // by hostile servers
	background        *backgroundLoad // of objects of others; nil if there is none
}

// newSubject makes a Redis of the spec's own and lets the writing start.
func newSubject(ctx context.Context, f faultRow) *subject {
	GinkgoHelper()
	return start(ctx, newRedis(ctx, newNamespace(ctx).Name, f), 0)
}

// newRedis makes a Redis for a row.
func newRedis(ctx context.Context, namespace string, f faultRow) *cachev1alpha1.Redis {
	GinkgoHelper()
	made := builders.Redis("data").Size(max(3, f.size))
	if f.storage {
		made.Storage("64Mi").With(func(s *cachev1alpha1.RedisSpec) { s.Storage.Retention = cachev1alpha1.RedisDelete })
	}
	if f.nodePort {
		made.With(func(s *cachev1alpha1.RedisSpec) { s.Service.Type = corev1.ServiceTypeNodePort })
	}
	if f.small {
		newSmallDisks(ctx, namespace, int(max(3, f.size)))
		made.With(func(s *cachev1alpha1.RedisSpec) { s.Storage.StorageClassName = &namespace })
	}
	redis := made.Build()
	redis.Namespace = namespace
	Expect(k8s.Create(ctx, redis)).To(Succeed())
	return redis
}

// start to watch a Redis, and to write. Earlier writers had other keys, by their use of it.
func start(ctx context.Context, redis *cachev1alpha1.Redis, use int) *subject {
	GinkgoHelper()
	s := &subject{Redis: redis}
	Eventually(s.robust).WithContext(ctx).WithArguments(int64(0)).Should(Succeed())

	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(stop)
	through, to := s.dialers(ctx)
	throughPlain := through
	if s.Spec.Service.Type == corev1.ServiceTypeNodePort {
		throughPlain = s.throughNodePort(ctx)
	}
	var err error
	s.endpoints, err = fault.WatchEndpoints(run, clients, s.Namespace, s.Name)
	Expect(err).NotTo(HaveOccurred())
	s.servers, err = fault.WatchServers(run, clients, s.Namespace, s.Status.Selector, to)
	Expect(err).NotTo(HaveOccurred())
	s.follow = func() error { return errors.Join(s.endpoints.Follow(run), s.servers.Follow(run)) }
	s.confirming = fault.NewWriter(fmt.Sprintf("confirmed-%d-", use), through)
	s.plain = fault.NewPlainWriter(fmt.Sprintf("plain-%d-", use), throughPlain)
	var writing sync.WaitGroup
	for _, w := range []*fault.Writer{s.confirming, s.plain} {
		writing.Go(func() { w.Run(run) })
	}
	s.stop = func() { stop(); writing.Wait() }
	for _, w := range []*fault.Writer{s.confirming, s.plain} {
		Eventually(w.Written).WithContext(ctx).Should(BeNumerically(">", enoughWrites), "%v", w.Failures())
	}
	return s
}

// awaitMoreWrites shows that the writer still writes, or writes again.
func awaitMoreWrites(ctx context.Context, w *fault.Writer) {
	GinkgoHelper()
	Eventually(w.Written).WithContext(ctx).Should(BeNumerically(">", w.Written()+enoughWrites))
}

// dialers of the master's Service, and of a single server; both as the application.
func (s *subject) dialers(ctx context.Context) (through func() *goredis.Client, to func(address string) *goredis.Client) {
	GinkgoHelper()
	as, err := traffic.Application(ctx, k8s, s.Redis)
	Expect(err).NotTo(HaveOccurred())
	var service corev1.Service
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, &service)).To(Succeed())
	to = func(address string) *goredis.Client { return as(traffic.At(address)) }
	return func() *goredis.Client { return to(service.Spec.ClusterIP) }, to
}

// throughNodePort connects to the Kubernetes node, as a client outside of the cluster does. It sets externalTrafficPolicy: Local in the
// Service, as users do, since the spec of a Redis has no field for it.
func (s *subject) throughNodePort(ctx context.Context) func() *goredis.Client {
	GinkgoHelper()
	as, err := traffic.Application(ctx, k8s, s.Redis)
	Expect(err).NotTo(HaveOccurred())
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
	Expect(k8s.Patch(ctx, service, client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"externalTrafficPolicy":%q}}`, corev1.ServiceExternalTrafficPolicyLocal)))).To(Succeed())
	there, err := traffic.AtNodePort(ctx, k8s, traffic.Service{Namespace: s.Namespace, Name: s.Name, Port: port})
	Expect(err).NotTo(HaveOccurred())
	return func() *goredis.Client { return as(there) }
}

// robust is nil when there is a master of a later epoch which could be lost
// again, and every node shares its history.
func (s *subject) robust(ctx context.Context, after int64) error {
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(s.Redis), s.Redis); err != nil {
		return err
	}
	// A promotion that is only intended has an epoch in the status, but not in the record.
	if on := s.Status.Replication; on == nil || on.Epoch <= after || s.Status.ObservedGeneration != s.Generation {
		return fmt.Errorf("still epoch %d, generation %d", s.Status.Epoch, s.Status.ObservedGeneration)
	}
	for _, conditionType := range []string{commonv1.ConditionReady, commonv1.ConditionFailoverPossible} {
		if !meta.IsStatusConditionTrue(s.Status.Conditions, conditionType) {
			return fmt.Errorf("not %s: %+v", conditionType, s.Status.Conditions)
		}
	}
	for _, node := range s.Status.Nodes {
		known := node.State == cachev1alpha1.RedisInSync || node.State == cachev1alpha1.RedisMaster
		if !known || node.ReplID != s.Status.Replication.ReplID {
			return fmt.Errorf("%s is %s with history %s", node.Name, node.State, node.ReplID)
		}
	}
	return nil
}

// healed is nil when the Redis is robust in a later epoch, by its servers' own
// words as well, and confirms writes beyond so many.
func (s *subject) healed(ctx context.Context, after int64, written int) error {
	if err := s.robust(ctx, after); err != nil {
		return err
	}
	if _, whole, err := s.servers.FullyReplicatedSince(s.size()); !whole || err != nil {
		return fmt.Errorf("the servers are not whole (%w): %v", err, last(s.servers.Timeline()))
	}
	if now := s.confirming.Written(); now <= written {
		return fmt.Errorf("%d writes are confirmed: %v", now, s.confirming.Failures())
	}
	return nil
}

// recorded is the epoch of the master that is recorded now.
func (s *subject) recorded(ctx context.Context) (int64, error) {
	err := k8s.Get(ctx, client.ObjectKeyFromObject(s.Redis), s.Redis)
	return s.Status.Replication.Epoch, err
}

func (s *subject) size() int { return int(ptr.Deref(s.Spec.Size, 3)) }

// waitUntilHealed waits until the Redis is healed, the operator leads and no route moves. While others are busy, their routes always do.
func (s *subject) waitUntilHealed(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) error { return s.healed(ctx, 0, 0) }).WithContext(ctx).Should(Succeed())
	Eventually(cluster.Leads).WithContext(ctx).WithArguments(k8s).Should(Succeed())
	still := s.endpoints.Still
	if s.background.isBusy() {
		still = s.endpoints.ServiceStill
	}
	Eventually(still).WithContext(ctx).Should(BeNumerically(">", stillness))
}

// edit the object as a user does.
func (s *subject) edit(ctx context.Context, change func(*cachev1alpha1.Redis)) error {
	before := s.DeepCopy()
	change(s.Redis)
	return k8s.Patch(ctx, s.Redis, client.MergeFrom(before))
}

// pods of the Redis, by ordinal.
func (s *subject) pods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := k8s.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": "redis", "app.kubernetes.io/instance": s.Name})
	return pods.Items, err
}

// others are the addresses of all pods but that one.
func (s *subject) others(ctx context.Context, but corev1.Pod) ([]string, error) {
	pods, err := s.pods(ctx)
	return addresses(slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.UID == but.UID })), err
}

func addresses(pods []corev1.Pod) []string {
	list := make([]string, 0, len(pods))
	for _, pod := range pods {
		list = append(list, pod.Status.PodIP)
	}
	return list
}

func last(lines []string) string {
	if len(lines) == 0 {
		return "nothing seen"
	}
	return lines[len(lines)-1]
}
