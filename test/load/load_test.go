package load

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/mainstay-operator/mainstay-operator/api"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

const namespace = "shop"

// web is a network of one HTTP server, which fails while broken is set.
type web struct {
	address string
	broken  atomic.Bool
}

func newWeb(t *testing.T) *web {
	t.Helper()
	w := &web{}
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		if w.broken.Load() {
			response.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(server.Close)
	w.address = server.Listener.Addr().String()
	return w
}

func (w *web) Dial(ctx context.Context, _ traffic.Service) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", w.address)
}

func newAPI(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).Build()
}

// ready is a sample of a kind that its operator has done.
func ready(apiVersion, kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name},
		"status": map[string]any{"epoch": int64(3), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}}}
}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-0", UID: "uid", Labels: map[string]string{labelInstance: "web"}},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "server", ContainerID: "containerd://1"}}},
	}
}

// start starts to use a ready EasyService with one pod, until the test ends.
func start(t *testing.T, more ...*unstructured.Unstructured) (*Workloads, client.Client, *web) {
	t.Helper()
	server, c := newWeb(t), newAPI(t)
	samples := append([]*unstructured.Unstructured{ready("app.mainstay-operator.io/v1", "EasyService", "web")}, more...)
	if err := Create(t.Context(), c, namespace, samples); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), pod()); err != nil {
		t.Fatal(err)
	}
	w, err := use(t.Context(), c, server, namespace, samples)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w, c, server
}

// until waits for something that must come true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		}
	}
}

func TestWorkloadsThatNoOneTouchesAreUntouched(t *testing.T) {
	w, _, _ := start(t)
	since := w.Requests()
	until(t, "the client is served", func() bool { return w.Requests()["web"] >= since["web"]+enough })
	if err := w.Untouched(t.Context(), since); err != nil {
		t.Error(err)
	}
	if err := w.Untouched(t.Context(), map[string]int{"web": 1 << 40}); err == nil {
		t.Error("a client that was served no more is not noticed")
	}
}

func TestAFailedRequestIsNotForgotten(t *testing.T) {
	w, _, server := start(t)
	if err := w.Failure(); err != nil {
		t.Fatal(err)
	}
	server.broken.Store(true)
	until(t, "a request fails", func() bool { return w.Failure() != nil })
	server.broken.Store(false)
	since := w.Requests()
	until(t, "the client is served again", func() bool { return w.Requests()["web"] >= since["web"]+enough })
	if err := w.Untouched(t.Context(), since); err == nil || !strings.Contains(err.Error(), "web: the server answers 502 Bad Gateway") {
		t.Errorf("it says %v", err)
	}
}

func TestUseWaitsUntilTheClientsAreServed(t *testing.T) {
	server, c := newWeb(t), newAPI(t)
	server.broken.Store(true)
	samples := []*unstructured.Unstructured{ready("app.mainstay-operator.io/v1", "EasyService", "web")}
	if err := Create(t.Context(), c, namespace, samples); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), 2*pollInterval)
	defer end()
	if _, err := use(ctx, c, server, namespace, samples); err == nil || !strings.Contains(err.Error(), "web has served 0 requests") {
		t.Errorf("it says %v", err)
	}
}

// What happens to the workloads, and what is said of it.
func TestWhatTouchesWorkloadsIsSeen(t *testing.T) {
	redis := func() *unstructured.Unstructured {
		return ready("cache.mainstay-operator.io/v1alpha1", "Redis", "other")
	}
	for name, row := range map[string]struct {
		touch func(ctx context.Context, c client.Client) error
		want  string
	}{
		"a pod is replaced": {func(ctx context.Context, c client.Client) error {
			if err := c.Delete(ctx, pod()); err != nil {
				return err
			}
			next := pod()
			next.UID = "another"
			return c.Create(ctx, next)
		}, "pod web-0 was uid with"},
		"a pod is deleted": {func(ctx context.Context, c client.Client) error { return c.Delete(ctx, pod()) }, "pod web-0 is gone"},
		"a pod is made": {func(ctx context.Context, c client.Client) error {
			more := pod()
			more.Name = "web-1"
			return c.Create(ctx, more)
		}, "pod web-1 is new"},
		"a container is restarted": {func(ctx context.Context, c client.Client) error {
			restarted := pod()
			restarted.Status.ContainerStatuses[0].ContainerID = "containerd://2"
			return c.Status().Update(ctx, restarted)
		}, `and is uid with ["server containerd://2"]`},
		"a pod gets another role": {func(ctx context.Context, c client.Client) error {
			promoted := pod()
			promoted.Labels[labelRole] = "master"
			return c.Update(ctx, promoted)
		}, `as "master"`},
		"a Redis gets another master": {func(ctx context.Context, c client.Client) error {
			return change(ctx, c, redis(), func(status map[string]any) { status["epoch"] = int64(4) })
		}, "epoch of Redis other was 3, and is 4"},
		"a sample is not ready any more": {func(ctx context.Context, c client.Client) error {
			return change(ctx, c, redis(), func(status map[string]any) { status["conditions"] = []any{} })
		}, "Redis other: not looked at yet"},
	} {
		t.Run(name, func(t *testing.T) {
			w, c, _ := start(t, redis())
			if err := row.touch(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if err := w.Untouched(t.Context(), nil); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("it says %v, without %q", err, row.want)
			}
		})
	}
}

// change changes the status of a sample in the namespace.
func change(ctx context.Context, c client.Client, obj *unstructured.Unstructured, by func(status map[string]any)) error {
	obj.SetNamespace(namespace)
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return err
	}
	status := maps.Clone(obj.Object["status"].(map[string]any))
	by(status)
	obj.Object["status"] = status
	return c.Update(ctx, obj)
}

func TestWithoutARedisNothingCanBeReadBack(t *testing.T) {
	w, _, _ := start(t)
	w.Stop()
	if lost, err := w.Lost(t.Context()); err == nil {
		t.Errorf("%q is lost, says a load that wrote nothing", lost)
	}
}

func TestSamplesThatAnswerNothingAreRefused(t *testing.T) {
	activity := ready("ego.mainstay-operator.io/v1", "Activity", "run")
	if _, err := startClients(t.Context(), newAPI(t), newWeb(t), []*unstructured.Unstructured{activity}); err == nil {
		t.Error("a load without a client is accepted")
	}
}

// synctest finds goroutines of a client that is still open.
func TestTheClientOfAnEtcdIsClosedIfThatOfARedisFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		etcd := ready("database.mainstay-operator.io/v1alpha1", "EtcdCluster", "sample-etcd")
		missing := ready("cache.mainstay-operator.io/v1alpha1", "Redis", "sample-redis")
		_, err := startClients(t.Context(), newAPI(t), nil, []*unstructured.Unstructured{etcd, missing})
		if err == nil || !strings.Contains(err.Error(), "a client of Redis sample-redis: ") {
			t.Errorf("it says %v", err)
		}
	})
}
