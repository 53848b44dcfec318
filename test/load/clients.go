package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

// pace of each client: a request every 25 ms. At one every 10 ms, OLM took minutes longer for an upgrade on a machine with two cores.
const pace = 25 * time.Millisecond

// keys that the clients of Memcached and etcd write again and again.
const keys = 100

// request sends the nth request of a client.
type request func(ctx context.Context, n int) error

// clients use one sample each.
type clients struct {
	// stop them, and wait until they have ended.
	stop func()
	// writer is the client of the Redis, named after it; nil if there is no Redis.
	writer      *fault.Writer
	writerNamed string
	// etcd is the client of the EtcdCluster; nil if there is none.
	etcd *clientv3.Client

	mu     sync.Mutex
	served map[string]int
	// failed is the last failure of each client.
	failed map[string]error
}

func newClients() *clients {
	return &clients{stop: func() {}, served: map[string]int{}, failed: map[string]error{}}
}

// startClients starts a client of each sample that answers requests.
func startClients(ctx context.Context, c client.Client, network traffic.Network, samples []*unstructured.Unstructured) (*clients, error) {
	cs := newClients()
	var runs []func(context.Context)
	for _, sample := range samples {
		run, err := cs.clientOf(ctx, c, network, sample)
		if err != nil {
			cs.close()
			return nil, fmt.Errorf("a client of %s %s: %w", sample.GetKind(), sample.GetName(), err)
		}
		if run != nil {
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		return nil, errors.New("none of the samples answers requests")
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var using sync.WaitGroup
	for _, run := range runs {
		using.Go(func() { run(running) })
	}
	cs.stop = sync.OnceFunc(func() { stop(); using.Wait(); cs.close() })
	return cs, nil
}

// close what no client uses any more.
func (c *clients) close() {
	if c.etcd != nil {
		_ = c.etcd.Close() // its requests have been counted
	}
}

// clientOf returns what uses a sample; nil if the sample answers no requests.
func (c *clients) clientOf(ctx context.Context, k8s client.Client, network traffic.Network, sample *unstructured.Unstructured) (
	run func(context.Context), err error) {
	name, to := sample.GetName(), traffic.Service{Namespace: sample.GetNamespace(), Name: sample.GetName()}
	switch sample.GetKind() + " " + name {
	case "EasyService web":
		to.Port = 80
		return c.repeat(name, get(network, to)), nil
	case "Memcached sample-cache":
		to.Port = 11211
		return c.repeat(name, setAndGet(network, to)), nil
	case "EtcdCluster sample-etcd":
		to.Port = 2379
		c.etcd, err = traffic.Etcd(network, to, nil, "", "")
		if err != nil {
			return nil, err
		}
		return c.repeat(name, put(c.etcd)), nil
	case "Redis sample-redis":
		c.writerNamed = name
		c.writer, err = newWriter(ctx, k8s, network, client.ObjectKeyFromObject(sample))
		if err != nil {
			return nil, err
		}
		return c.writer.Run, nil
	}
	return nil, nil
}

// newWriter writes to a Redis as its binding says, and has each write confirmed by a replica.
func newWriter(ctx context.Context, k8s client.Client, network traffic.Network, key client.ObjectKey) (*fault.Writer, error) {
	var redis cachev1alpha1.Redis
	if err := k8s.Get(ctx, key, &redis); err != nil {
		return nil, err
	}
	through, err := traffic.Application(ctx, k8s, &redis)
	if err != nil {
		return nil, err
	}
	return fault.NewWriter("confirmed-", func() *goredis.Client { return through(network) }).Every(pace), nil
}

// repeat returns what sends a request at the pace until its context ends, and counts.
func (c *clients) repeat(name string, send request) func(context.Context) {
	c.served[name] = 0
	return func(ctx context.Context) {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			err := send(ctx, n)
			if ctx.Err() != nil {
				return // this end, not the server, cut the request off
			}
			c.note(name, err)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}
}

func (c *clients) note(name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failed[name] = err
	} else {
		c.served[name]++
	}
}

func get(network traffic.Network, to traffic.Service) request {
	return func(ctx context.Context, _ int) error {
		answer, err := traffic.Get(ctx, network, to, "/")
		if err == nil && answer.Code != http.StatusOK {
			err = fmt.Errorf("the server answers %s", answer.Status)
		}
		return err
	}
}

// setAndGet sets a value, and reads it back over the same connection: another may lead to another node.
func setAndGet(network traffic.Network, to traffic.Service) request {
	return func(ctx context.Context, n int) error {
		c, err := traffic.DialMemcached(ctx, network, to)
		if err != nil {
			return err
		}
		key := strconv.Itoa(n % keys)
		if err := c.Set(key, "value"); err != nil {
			return errors.Join(err, c.Close())
		}
		_, found, err := c.Get(key)
		if err == nil && !found {
			err = errors.New("the value that was just set is missing")
		}
		return errors.Join(err, c.Close())
	}
}

// put puts a value, which etcd acknowledges once a majority has it.
func put(etcd *clientv3.Client) request {
	return func(ctx context.Context, n int) error {
		_, err := etcd.Put(ctx, strconv.Itoa(n%keys), "value")
		return err
	}
}

// requests are how many were served, by client.
func (c *clients) requests() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	served := maps.Clone(c.served)
	if c.writer != nil {
		served[c.writerNamed] = c.writer.Written()
	}
	return served
}

// servedSince returns an error unless each client was served enough requests more.
func (c *clients) servedSince(before map[string]int) error {
	now := c.requests()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if now[name] < before[name]+enough {
			errs = append(errs, fmt.Errorf("%s has served %d requests, and %d before", name, now[name], before[name]))
		}
	}
	return errors.Join(errs...)
}

// failure returns the last failure of each client that had one.
func (c *clients) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.failed)) {
		errs = append(errs, fmt.Errorf("%s: %w", name, c.failed[name]))
	}
	if c.writer != nil {
		if refusals := c.writer.Refusals(); len(refusals) > 0 {
			errs = append(errs, fmt.Errorf("%s: %v", c.writerNamed, refusals))
		}
	}
	return errors.Join(errs...)
}

// forgive what has failed so far.
func (c *clients) forgive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.failed)
	if c.writer != nil {
		c.writer.Forgive()
	}
}
