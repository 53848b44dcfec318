package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// setOfPods is the StatefulSet that controls the pods of these tests.
var setOfPods = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "set"}}

// podOf is the pod of a node, as the API server has it.
func podOf(m topology.Node) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: m.Name, UID: m.PodUID,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "a", UID: setOfPods.UID,
			Controller: ptr.To(true)}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: m.Address, PodIPs: []corev1.PodIP{{IP: m.Address}}}}
}

func TestWhichAddressIsConfirmed(t *testing.T) {
	node := topology.Node{Name: "a-3", PodUID: "uid-a-3", Address: "10.0.0.3"}
	for _, c := range []struct {
		reason string
		live   func(*corev1.Pod) // nil for no pod
		want   bool
	}{
		{"the pod has the address", func(*corev1.Pod) {}, true},
		{"it is a second address of the pod", func(p *corev1.Pod) {
			p.Status.PodIP, p.Status.PodIPs = "fd00::3", []corev1.PodIP{{IP: "fd00::3"}, {IP: "10.0.0.3"}}
		}, true},
		{"the pod is going", func(p *corev1.Pod) { p.Finalizers, p.DeletionTimestamp = []string{"a/b"}, ptr.To(metav1.Now()) }, true},
		{"there is no pod", nil, false},
		{"the pod was recreated", func(p *corev1.Pod) { p.UID = "another" }, false},
		{"the pod has another address", func(p *corev1.Pod) { p.Status.PodIP, p.Status.PodIPs = "10.0.0.9", nil }, false},
		{"the pod has ended, and its address is free", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
		{"another StatefulSet controls the pod", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "another" }, false},
		{"nothing controls the pod, which is not recorded", func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		{"nothing controls the pod, which is recorded", func(p *corev1.Pod) {
			p.OwnerReferences, p.Labels = nil, map[string]string{"on": "record"}
		}, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s, live := fixture.Healthy(3), fake.NewClientBuilder()
			s.Namespace = "ns"
			if c.live != nil {
				pod := podOf(node)
				if c.live(pod); pod.Labels["on"] == "record" {
					s.Status.Replication.SyncSet = append(s.Status.Replication.SyncSet, cachev1alpha1.RedisProcess{Name: node.Name, PodUID: node.PodUID})
				}
				live = live.WithObjects(pod)
			}
			r := startOperator(nil)
			r.APIReader = live.Build()
			f := r.fleetOf(s.Redis)
			f.Set = setOfPods
			if err := f.confirmNode(node)(t.Context()); (err == nil) != c.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A connection may be made after its pass gave up waiting for it, while the reply to a save is decoded into the object.
func TestAnAddressIsConfirmedAfterTheObjectChanged(t *testing.T) {
	s, node := fixture.Healthy(3), topology.Node{Name: "a-3", PodUID: "uid-a-3", Address: "10.0.0.3"}
	s.Namespace, s.UID = "ns", "redis"
	s.Status.Replication.SyncSet = append(s.Status.Replication.SyncSet, cachev1alpha1.RedisProcess{Name: node.Name, PodUID: node.PodUID})
	pod := podOf(node)
	for owner, confirm := range map[types.UID]func(*Fleet) wire.Confirm{
		"":      func(f *Fleet) wire.Confirm { return f.confirmNode(node) },
		"redis": func(f *Fleet) wire.Confirm { return f.confirmSource(node) },
	} {
		pod.OwnerReferences = nil
		if owner != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Redis", Name: "a", UID: owner, Controller: ptr.To(true)}}
		}
		r := startOperator(nil)
		r.APIReader = fake.NewClientBuilder().WithObjects(pod.DeepCopy()).Build()
		f := r.fleetOf(s.DeepCopy())
		f.Set = setOfPods
		late := confirm(f)
		*f.Redis = cachev1alpha1.Redis{}
		if err := late(t.Context()); err != nil {
			t.Errorf("controlled by %q: %v", owner, err)
		}
	}
}

// Only an API server that says so proves that an address is somebody else's.
func TestAnAddressThatCannotBeConfirmed(t *testing.T) {
	node := topology.Node{Name: "a-3", PodUID: "uid-a-3", Address: "10.0.0.3"}
	for reason, c := range map[string]struct {
		failure error
		unknown bool
	}{
		"the API server is slow":   {context.DeadlineExceeded, true},
		"the API server is busy":   {apierrors.NewTooManyRequests("later", 1), true},
		"there is no such pod":     {apierrors.NewNotFound(corev1.Resource("pods"), node.Name), false},
		"another pod of that name": {nil, false},
	} {
		t.Run(reason, func(t *testing.T) {
			s, r := fixture.Healthy(3), startOperator(nil)
			r.APIReader = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return c.failure
				}})
			f := r.fleetOf(s.Redis)
			f.Set = setOfPods
			if err := f.confirmNode(node)(t.Context()); err == nil || errors.Is(err, wire.ErrNotFoundOut) != c.unknown {
				t.Errorf("got %v", err)
			}
		})
	}
}

// openPods asks the servers of these nodes, whose pods the cache and the API server have.
func openPods(t *testing.T, r runningOperator, redis *cachev1alpha1.Redis, nodes []topology.Node, password string) *Fleet {
	t.Helper()
	f := r.fleetOf(redis)
	f.Set, f.effects, f.Credentials.Operator = setOfPods, scripted{}, password
	live := fake.NewClientBuilder()
	for _, m := range nodes {
		f.Pods, live = append(f.Pods, *podOf(m)), live.WithObjects(podOf(m))
	}
	r.APIReader = live.Build()
	f.open()
	f.ask(t.Context())
	return f
}

// A master's pod is gone, and a pod of somebody else gets its address.
func TestAStrangerAtTheMastersAddressHearsNothing(t *testing.T) {
	address := network(t) + ".9"
	listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(wire.Port)))
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		buffer := make([]byte, 4<<10)
		n, _ := io.ReadAtLeast(conn, buffer, 1)
		_ = conn.Close()
		heard <- string(buffer[:n])
	}()
	t.Cleanup(func() { _ = listener.Close() })
	s := fixture.Healthy(1)
	s.Namespace, s.Status.Replication.Master.Address = "ns", address
	f := openPods(t, startOperator(clock.RealClock{}), s.Redis, nil, "secret")
	defer f.closeConnections()
	if f.Ghost == nil || !f.Ghost.Unasked || f.Ghost.Answer != wire.Silent {
		t.Errorf("the ghost is %+v", f.Ghost)
	}
	if got := <-heard; got != "" {
		t.Errorf("it heard %q", got)
	}
}

// A master whose pod was deleted by force hands over by the connection that was made while the pod was there. Another operator
// has none.
func TestAGhostIsAskedByTheConnectionThatIsLeft(t *testing.T) {
	l := newLoopback(t, 3)
	l.redis.Namespace = "ns"
	var nodes []topology.Node
	for _, n := range l.nodes {
		nodes = append(nodes, topology.Node{Name: n.name, PodUID: n.uid, Address: n.address})
	}
	first := l.look()
	master := first.RecordedMaster(l.redis.Status.Replication.Master)
	first.closeConnections()
	r := startOperator(clock.RealClock{})
	f := openPods(t, r, l.redis, nodes, l.secrets.Operator)
	if _, serving := f.Situation().ServingMaster(); !serving {
		t.Fatalf("the master is %+v", f.RecordedMaster(l.redis.Status.Replication.Master))
	}
	f.Close()
	rest := slices.DeleteFunc(slices.Clone(nodes), func(m topology.Node) bool { return m.Name == master.Name })
	for round := range 2 {
		f = openPods(t, r, l.redis, rest, l.secrets.Operator)
		for look := range 2 {
			if f.Ghost == nil || f.Ghost.Unasked || !f.Ghost.Master {
				t.Errorf("pass %d, look %d: the ghost is %+v", round, look, f.Ghost)
			}
			f.lookAgain(t.Context())
		}
		f.Close()
	}
	other := openPods(t, startOperator(clock.RealClock{}), l.redis, rest, l.secrets.Operator)
	defer other.closeConnections()
	if !other.Ghost.Unasked || other.Ghost.Answer != wire.Silent {
		t.Errorf("another operator's ghost is %+v", other.Ghost)
	}
	l.kill(l.master())
	f = openPods(t, r, l.redis, rest, l.secrets.Operator) // the kept connection has ended
	f.Close()
	f = openPods(t, r, l.redis, rest, l.secrets.Operator)
	defer f.Close()
	if !f.Ghost.Unasked || f.Ghost.Answer != wire.Refused {
		t.Errorf("after its end the ghost is %+v", f.Ghost)
	}
}
