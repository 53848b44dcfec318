package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// program runs in the pods.
	program = "etcd"
	// dataFolder is where a pod finds its volume.
	dataFolder = "/var/lib/etcd"
	// clientPort is where members serve clients.
	clientPort = 2379
	// lookPause is between two looks at all members, lookLimit bounds one of them.
	lookPause, lookLimit = 100 * time.Millisecond, time.Second
	// healLimit is how long anything may take to be whole again.
	healLimit = 3 * time.Minute
)

// target is one etcd in a namespace of its own: an EtcdCluster, or a bare etcd. Both name their pods, Services and labels alike.
type target struct {
	namespace, name string

	mu      sync.Mutex
	clients map[string]*clientv3.Client // by the address of the pod
}

// endpoints of the first so many members, by their names in the cluster's DNS.
func (t *target) endpoints(size int) []string {
	var all []string
	for i := range size {
		all = append(all, fmt.Sprintf("http://%s-%d.%s-headless.%s.svc.cluster.local:%d", t.name, i, t.name, t.namespace, clientPort))
	}
	return all
}

// serviceEndpoint is the Service for clients.
func (t *target) serviceEndpoint() []string {
	return []string{fmt.Sprintf("http://%s.%s.svc.cluster.local:%d", t.name, t.namespace, clientPort)}
}

// member is one member by its own word.
type member struct {
	pod     corev1.Pod
	id      uint64
	version string
	leads   bool
}

// look asks all members who they are. It returns an error unless there are exactly so many, all of them voters that run and
// agree who leads.
func (t *target) look(ctx context.Context, size int) (map[string]member, error) {
	ctx, done := context.WithTimeout(ctx, lookLimit)
	defer done()
	pods, err := t.pods(ctx)
	if err != nil {
		return nil, err
	}
	if len(pods) != size {
		return nil, fmt.Errorf("%d pods", len(pods))
	}
	members, leaders, failed := make([]member, size), make([]uint64, size), make([]error, size)
	var asking sync.WaitGroup
	for i, pod := range pods {
		asking.Go(func() { members[i], leaders[i], failed[i] = t.ask(ctx, pod, size) })
	}
	asking.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	all := map[string]member{}
	for i, m := range members {
		if leaders[i] != leaders[0] || leaders[i] == 0 {
			return nil, fmt.Errorf("members do not agree who leads: %x", leaders)
		}
		all[m.pod.Name] = m
	}
	return all, nil
}

// ask one member who it is and who leads, and whether all members are voters.
func (t *target) ask(ctx context.Context, pod corev1.Pod, size int) (m member, leader uint64, err error) {
	if pod.Status.PodIP == "" || pod.DeletionTimestamp != nil {
		return m, 0, fmt.Errorf("%s has no address, or goes", pod.Name)
	}
	etcd, err := t.dial(pod.Status.PodIP)
	if err != nil {
		return m, 0, err
	}
	status, err := etcd.Status(ctx, etcd.Endpoints()[0])
	if err != nil {
		return m, 0, fmt.Errorf("%s: %w", pod.Name, err)
	}
	list, err := etcd.MemberList(ctx)
	if err != nil {
		return m, 0, fmt.Errorf("%s: %w", pod.Name, err)
	}
	if len(list.Members) != size {
		return m, 0, fmt.Errorf("%s lists %d members", pod.Name, len(list.Members))
	}
	for _, member := range list.Members {
		if member.IsLearner {
			return m, 0, fmt.Errorf("%s is a learner", member.Name)
		}
	}
	id := status.Header.MemberId
	return member{pod: pod, id: id, version: status.Version, leads: status.Leader == id}, status.Leader, nil
}

// pods of the target.
func (t *target) pods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := k8s.List(ctx, &pods, client.InNamespace(t.namespace), client.MatchingLabels{"app.kubernetes.io/instance": t.name})
	return pods.Items, err
}

// dial gives a client of one pod, which soon notices that a server is back.
func (t *target) dial(address string) (*clientv3.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.clients[address]; known != nil {
		return known, nil
	}
	made, err := clientv3.New(clientv3.Config{
		Endpoints: []string{fmt.Sprintf("http://%s", net.JoinHostPort(address, fmt.Sprint(clientPort)))},
		Logger:    zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: lookPause, Multiplier: 1, MaxDelay: lookPause}, MinConnectTimeout: lookLimit})},
	})
	if err != nil {
		return nil, err
	}
	if t.clients == nil {
		t.clients = map[string]*clientv3.Client{}
	}
	t.clients[address] = made
	return made, nil
}

// close the clients that look at the members.
func (t *target) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var failed []error
	for _, c := range t.clients {
		failed = append(failed, c.Close())
	}
	return errors.Join(failed...)
}

// heals waits until there are so many healthy voters of which over is true, and have been without a break for as long as hold
// says. It returns the members and since when.
func (t *target) heals(ctx context.Context, size int, over func(map[string]member) bool, hold time.Duration) (map[string]member, time.Time,
	error) {
	var members map[string]member
	var since time.Time
	err := poll(ctx, func(ctx context.Context) error {
		seen, err := t.look(ctx, size)
		if err == nil && !over(seen) {
			err = errors.New("the fault is not over")
		}
		if err != nil {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if members = seen; time.Since(since) < hold {
			return errors.New("not yet for long enough")
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%s/%s: %d healthy voters are awaited: %w", t.namespace, t.name, size, err)
	}
	return members, since, err
}

// poll until there is no error; the last one is reported when it takes too long.
func poll(ctx context.Context, f func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, lookPause, healLimit, true, func(ctx context.Context) (bool, error) {
		attempt, done := context.WithTimeout(ctx, 2*lookLimit)
		defer done()
		last = f(attempt)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

func atOnce(map[string]member) bool { return true }

// replaced reports whether the pods of these members are all others than before.
func replaced(before map[string]member, names ...string) func(map[string]member) bool {
	uids := map[types.UID]bool{}
	for _, name := range names {
		uids[before[name].pod.UID] = true
	}
	return func(now map[string]member) bool {
		for _, m := range now {
			if uids[m.pod.UID] {
				return false
			}
		}
		return true
	}
}
