package controllers

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestLease(t *testing.T) {
	code, asked := http.StatusOK, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`))
	}))
	defer server.Close()
	config, clock := &rest.Config{Host: server.URL}, clocktesting.NewFakePassiveClock(time.Now())
	lease := NewLease(10 * time.Second)
	lease.clock = clock
	elections, err := rest.HTTPClientFor(lease.Electing(config))
	if err != nil {
		t.Fatal(err)
	}
	say := func(method, path string) {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		response, err := elections.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	ours, err := lease.NewClient(config, client.Options{Scheme: scheme.Scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	object := func() *corev1.ConfigMap {
		made := &corev1.ConfigMap{}
		made.Namespace, made.Name = "ns", "a"
		return made
	}
	const lock = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a"

	refused := func(why string) {
		t.Helper()
		before := asked
		if err := ours.Create(t.Context(), object()); !errors.Is(err, errLapsed) || lease.Held() || asked != before {
			t.Errorf("%s: %v, held: %t", why, err, lease.Held())
		}
		if err := ours.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "a"}, object()); err != nil {
			t.Errorf("%s: reading is for everybody: %v", why, err)
		}
	}
	refused("it was never held")
	say(http.MethodGet, lock)
	say(http.MethodPost, "/api/v1/namespaces/ns/events")
	refused("it was looked at")
	code = http.StatusConflict
	say(http.MethodPut, lock)
	code = http.StatusOK
	refused("it is somebody else's")

	say(http.MethodPut, lock)
	clock.SetTime(clock.Now().Add(9 * time.Second))
	if err := ours.Create(t.Context(), object()); err != nil {
		t.Error("it is held: ", err)
	}
	clock.SetTime(clock.Now().Add(time.Second))
	refused("it was not renewed in time")
}

// pausedMachine was paused together with its monotonic clock, but not with its wall clock.
type pausedMachine struct {
	*clocktesting.FakePassiveClock
	now time.Time
}

func (m pausedMachine) Now() time.Time              { return m.now }
func (pausedMachine) Since(time.Time) time.Duration { return time.Second }

func TestALeaseLapsesWhileTheMachineIsPaused(t *testing.T) {
	renewed := time.Now()
	for past, held := range map[time.Duration]bool{
		-time.Hour: true, time.Second: true, 9 * time.Second: true, 10 * time.Second: false, time.Hour: false,
	} {
		lease := NewLease(10 * time.Second)
		lease.clock = pausedMachine{now: renewed.Add(past)}
		lease.renewed.Store(&renewed)
		if lease.Held() != held {
			t.Errorf("%s later by the wall clock: held is %t", past, !held)
		}
	}
}
