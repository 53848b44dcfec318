package olm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/samples"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

// pace of the load's requests to each kind.
const pace = 10 * time.Millisecond

// workloads are the samples in a namespace, and what uses them.
type workloads struct {
	namespace string
	objects   []*unstructured.Unstructured
	network   traffic.Network
	writer    *fault.Writer
	mu        sync.Mutex
	served    map[string]int
	failed    map[string]error
	stop      func()
}

// newWorkloads makes the samples of the kinds that the installed release knows, waits for them and starts to use them.
func newWorkloads(ctx context.Context) *workloads {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	objects, err := samples.Read(filepath.Join(root, "config", "samples"))
	Expect(err).NotTo(HaveOccurred())
	objects = slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool {
		_, err := k8s.RESTMapper().RESTMapping(obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version)
		Expect(meta.IsNoMatchError(err) || err == nil).To(BeTrue(), "%v", err)
		return err != nil
	})
	w := &workloads{namespace: newNamespace(ctx), objects: objects, network: traffic.ByClusterIP(k8s), served: map[string]int{},
		failed: map[string]error{}}
	for _, obj := range w.objects {
		obj.SetNamespace(w.namespace)
		Expect(k8s.Create(ctx, obj)).To(Succeed())
	}
	Eventually(w.arrived).WithContext(ctx).Should(Succeed())

	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	var using sync.WaitGroup
	w.stop = sync.OnceFunc(func() { stop(); using.Wait() })
	DeferCleanup(w.stop)
	redis := w.redis(ctx)
	through, err := traffic.Application(ctx, k8s, redis)
	Expect(err).NotTo(HaveOccurred())
	w.writer = fault.NewWriter("confirmed-", func() *goredis.Client { return through(w.network) })
	using.Go(func() { w.writer.Run(run) })
	using.Go(func() { w.use(run, "web", w.get) })
	using.Go(func() { w.use(run, "sample-cache", w.cache()) })
	etcd, err := traffic.Etcd(w.network, traffic.Service{Namespace: w.namespace, Name: "sample-etcd", Port: 2379}, nil, "", "")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(etcd.Close)
	using.Go(func() { w.use(run, "sample-etcd", put(etcd)) })
	Eventually(func(g Gomega) { // whatever is new is known to all of kube-proxy
		g.Expect(w.counts()).To(HaveEach(BeNumerically(">", 10)))
		g.Expect(w.counts()).To(HaveLen(4))
	}).WithContext(ctx).Should(Succeed())
	w.forgive()
	return w
}

// arrived is nil when every object is what its spec asks for.
func (w *workloads) arrived(ctx context.Context) error {
	var faults []error
	for _, obj := range w.objects {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if fate, words := samples.PhaseOf(obj); fate != samples.Ready {
			faults = append(faults, fmt.Errorf("%s %s: %s", obj.GetKind(), obj.GetName(), words))
		}
	}
	return errors.Join(faults...)
}

func (w *workloads) redis(ctx context.Context) *cachev1alpha1.Redis {
	GinkgoHelper()
	var redis cachev1alpha1.Redis
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "sample-redis"}, &redis)).To(Succeed())
	return &redis
}

// use something until the context ends, and count.
func (w *workloads) use(ctx context.Context, name string, once func(context.Context, int) error) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		err := once(ctx, n)
		w.mu.Lock()
		switch {
		case ctx.Err() != nil: // cut off by us
		case err != nil:
			w.failed[name] = err
		default:
			w.served[name]++
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (w *workloads) get(ctx context.Context, _ int) error {
	answer, err := traffic.Get(ctx, w.network, traffic.Service{Namespace: w.namespace, Name: "web", Port: 80}, "/")
	if err == nil && answer.Code != 200 {
		return errors.New(answer.Status)
	}
	return err
}

// cache a value, and read it back over the same connection: another may lead to
// another node.
func (w *workloads) cache() func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		c, err := traffic.DialMemcached(ctx, w.network, traffic.Service{Namespace: w.namespace, Name: "sample-cache", Port: 11211})
		if err != nil {
			return err
		}
		key := strconv.Itoa(n % 100)
		if err := c.Set(key, "value"); err != nil {
			return errors.Join(err, c.Close())
		}
		_, found, err := c.Get(key)
		if err == nil && !found {
			err = errors.New("what was just set is not there")
		}
		return errors.Join(err, c.Close())
	}
}

// put a value, which etcd acknowledges once a majority has it.
func put(etcd *clientv3.Client) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		_, err := etcd.Put(ctx, strconv.Itoa(n%100), "value")
		return err
	}
}

func (w *workloads) counts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[string]int{"redis": w.writer.Written()}
	for _, name := range []string{"web", "sample-cache", "sample-etcd"} {
		counts[name] = w.served[name]
	}
	return counts
}

// forgive what failed before everything had started to serve.
func (w *workloads) forgive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.failed)
	w.writer.Forgive()
}

// unharmed is nil when no request failed, and so many more were served since.
func (w *workloads) unharmed(since map[string]int) error {
	now := w.counts()
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, served := range since {
		if now[name] < served+10 {
			return fmt.Errorf("%s has served %d requests, %d before", name, now[name], served)
		}
	}
	if refusals := w.writer.Refusals(); len(refusals) > 0 {
		return fmt.Errorf("redis: %v", refusals)
	}
	for name, err := range w.failed {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// pods by name: which they are, how often their containers started, and their roles.
func (w *workloads) pods(ctx context.Context) map[string]string {
	GinkgoHelper()
	var list corev1.PodList
	Expect(k8s.List(ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
	pods := map[string]string{}
	for _, pod := range list.Items {
		restarts := int32(0)
		for _, s := range pod.Status.ContainerStatuses {
			restarts += s.RestartCount
		}
		pods[pod.Name] = fmt.Sprint(pod.UID, " restarted ", restarts, " as ", pod.Labels["mainstay-operator.io/role"])
	}
	return pods
}
