package fault

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// Endpoints follows the endpoints of a Service, change by change.
type Endpoints struct {
	stream

	service types.NamespacedName
	mu      sync.Mutex
	moved   time.Time // when an endpoint of any Service last changed
	own     time.Time // when an endpoint of this Service last changed
	slices  map[types.UID][]string
	seen    []string
	crowded []string
}

// WatchEndpoints follows until ctx ends.
func WatchEndpoints(ctx context.Context, clients kubernetes.Interface, namespace, service string) (*Endpoints, error) {
	e := &Endpoints{service: types.NamespacedName{Namespace: namespace, Name: service}, moved: time.Now(), own: time.Now(),
		slices: map[types.UID][]string{}}
	e.stream = stream{of: fmt.Sprintf("the endpoints of %q", service), take: e.take,
		start: func(ctx context.Context) (watch.Interface, error) {
			all := clients.DiscoveryV1().EndpointSlices(metav1.NamespaceAll)
			list, err := all.List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			e.mu.Lock()
			clear(e.slices)
			e.mu.Unlock()
			for i := range list.Items {
				e.take(watch.Event{Type: watch.Added, Object: &list.Items[i]})
			}
			return all.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		}}
	return e, e.Follow(ctx)
}

func (e *Endpoints) take(change watch.Event) {
	slice, ok := change.Object.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.moved = time.Now()
	if of := slice.Labels[discoveryv1.LabelServiceName]; slice.Namespace != e.service.Namespace || of != e.service.Name {
		return
	}
	e.own = e.moved
	e.slices[slice.UID] = serving(slice)
	if change.Type == watch.Deleted {
		delete(e.slices, slice.UID)
	}
	var all []string
	for _, addresses := range e.slices {
		all = append(all, addresses...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if now := fmt.Sprint(all); len(e.seen) == 0 || e.seen[len(e.seen)-1] != now {
		e.seen = append(e.seen, now)
	}
	if len(all) > 1 {
		e.crowded = append(e.crowded, fmt.Sprint(all))
	}
}

func serving(slice *discoveryv1.EndpointSlice) []string {
	var addresses []string
	for _, endpoint := range slice.Endpoints {
		if ptr.Deref(endpoint.Conditions.Ready, true) || ptr.Deref(endpoint.Conditions.Serving, false) {
			addresses = append(addresses, endpoint.Addresses...)
		}
	}
	return addresses
}

// Crowded lists the moments at which there was more than one endpoint.
func (e *Endpoints) Crowded() ([]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.crowded, e.finished()
}

// Still is how long no endpoint of any Service in the cluster has changed.
func (e *Endpoints) Still() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.moved)
}

// ServiceStill is how long no endpoint of this Service has changed.
func (e *Endpoints) ServiceStill() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.own)
}

// Seen lists the sets of endpoints one after another.
func (e *Endpoints) Seen() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen
}
