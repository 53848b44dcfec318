package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

const (
	// lookPause between two looks at all servers.
	lookPause = 100 * time.Millisecond
	// lookLimit for the answer of one server.
	lookLimit = time.Second
)

// Servers looks at every redis-server of a set, again and again, and asks each
// itself what it is: nothing is taken from the operator.
type Servers struct {
	stream

	dial func(address string) *redis.Client

	mu       sync.Mutex
	pods     map[types.UID]corev1.Pod
	clients  map[types.UID]*redis.Client
	last     []Server
	since    time.Time        // when the set became whole, zero while it is not
	syncs    map[string]int64 // full copies that each process has given
	emptied  []string
	timeline []string
}

// WatchServers follows the pods with these labels until ctx ends. dial gives a
// client of one address that repeats nothing.
func WatchServers(ctx context.Context, clients kubernetes.Interface, namespace, labels string,
	dial func(address string) *redis.Client) (*Servers, error) {
	s := &Servers{
		dial: dial, pods: map[types.UID]corev1.Pod{}, clients: map[types.UID]*redis.Client{}, syncs: map[string]int64{},
	}
	s.stream = stream{of: "the pods of " + labels, take: s.take, start: func(ctx context.Context) (watch.Interface, error) {
		all := clients.CoreV1().Pods(namespace)
		list, err := all.List(ctx, metav1.ListOptions{LabelSelector: labels})
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.pods)
		for _, pod := range list.Items {
			s.pods[pod.UID] = pod
		}
		return all.Watch(ctx, metav1.ListOptions{LabelSelector: labels, ResourceVersion: list.ResourceVersion})
	}}
	if err := s.Follow(ctx); err != nil {
		return nil, err
	}
	go s.run(ctx)
	return s, nil
}

func (s *Servers) take(change watch.Event) {
	pod, ok := change.Object.(*corev1.Pod)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods[pod.UID] = *pod
	if change.Type == watch.Deleted {
		delete(s.pods, pod.UID)
	}
}

func (s *Servers) run(ctx context.Context) {
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	for {
		s.look(ctx)
		select {
		case <-ctx.Done():
			for uid := range s.clients {
				s.hangUp(uid)
			}
			return
		case <-tick.C:
		}
	}
}

// look asks all servers at once, and draws the conclusions.
func (s *Servers) look(ctx context.Context) {
	seen := s.connect()
	var all sync.WaitGroup
	for i := range seen {
		if client := s.clients[seen[i].uid]; client != nil {
			all.Go(func() { seen[i].Info = ask(ctx, client) })
		}
	}
	all.Wait()
	for _, server := range seen {
		if server.RunID == "" { // a client that has failed to dial takes its time to dial again
			s.hangUp(server.uid)
		}
	}
	if ctx.Err() == nil {
		s.conclude(time.Now(), seen)
	}
}

// connect gives the servers there are, each with a client.
func (s *Servers) connect() []Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make([]Server, 0, len(s.pods))
	for uid, pod := range s.pods {
		seen = append(seen, Server{uid: uid, Pod: pod.Name, Address: pod.Status.PodIP, Leaving: pod.DeletionTimestamp != nil})
		if s.clients[uid] == nil && pod.Status.PodIP != "" {
			s.clients[uid] = s.dial(pod.Status.PodIP)
		}
	}
	for uid := range s.clients {
		if _, there := s.pods[uid]; !there {
			s.hangUp(uid)
		}
	}
	slices.SortFunc(seen, func(a, b Server) int { return strings.Compare(a.Pod, b.Pod) })
	return seen
}

func (s *Servers) hangUp(uid types.UID) {
	if client := s.clients[uid]; client != nil {
		_ = client.Close()
		delete(s.clients, uid)
	}
}

// ask twice: a connection that was closed while it was not in use shows nothing
// about the server.
func ask(ctx context.Context, client *redis.Client) Info {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	text, err := client.Info(ctx).Result()
	if err != nil {
		text, err = client.Info(ctx).Result()
	}
	if err != nil {
		return Info{}
	}
	return parseInfo(text)
}

func (s *Servers) conclude(now time.Time, seen []Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := make([]string, 0, len(seen))
	for _, server := range seen {
		words = append(words, server.String())
		s.syncs[server.RunID] = max(s.syncs[server.RunID], server.FullSyncs)
		if before := s.former(server); before.hasData() && server.hasData() && before.Keys > 0 && server.Keys == 0 {
			s.emptied = append(s.emptied, fmt.Sprintf("%s at %s", server.Pod, now.Format(time.StampMilli)))
		}
	}
	switch {
	case !IsFullyReplicated(seen, len(seen)):
		s.since = time.Time{}
	case s.since.IsZero() || len(seen) != len(s.last):
		s.since = now
	}
	if line := strings.Join(words, ", "); len(s.timeline) == 0 || !strings.HasSuffix(s.timeline[len(s.timeline)-1], "  "+line) {
		s.timeline = append(s.timeline, now.Format(time.StampMilli)+"  "+line)
	}
	s.last = seen
}

// former is what was last seen of the same process.
func (s *Servers) former(server Server) Server {
	i := slices.IndexFunc(s.last, func(o Server) bool { return o.RunID == server.RunID })
	if i < 0 || server.RunID == "" {
		return Server{}
	}
	return s.last[i]
}

// FullyReplicatedSince is the moment since which the set of that size has been fully replicated
// without a break, if it is.
func (s *Servers) FullyReplicatedSince(size int) (since time.Time, whole bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, IsFullyReplicated(s.last, size), s.finished()
}

// FullSyncs is how many full copies of the data the servers have given so far.
func (s *Servers) FullSyncs() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := int64(0)
	for _, n := range s.syncs {
		sum += n
	}
	return sum
}

// Emptied lists the servers in sync that had data and, still running, had none.
func (s *Servers) Emptied() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.emptied)
}

// Timeline lists what the servers were, each time that it had changed.
func (s *Servers) Timeline() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.timeline)
}
