package leadership

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An act that started as late as the lease allows has to end before another process leads.
func TestTimes(t *testing.T) {
	if d := DefaultTimes; d.RenewDeadline < 3*d.RetryPeriod || d.LeaseDuration-d.RenewDeadline < 5*time.Second {
		t.Errorf("%+v", d)
	}
}

func TestHeld(t *testing.T) {
	api, clock := fake.NewClientset(), clocktesting.NewFakeClock(time.Now())
	var refuses error
	api.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		clock.Step(time.Second) // so long does the API server take
		return refuses != nil, nil, refuses
	})
	lease := newLease(api, api, namespace, holder, DefaultTimes)
	lease.clock = clock
	held := func(want bool, why string) {
		t.Helper()
		if lease.Held() != want {
			t.Errorf("%s: held is %t", why, !want)
		}
	}
	record := resourcelock.LeaderElectionRecord{HolderIdentity: holder, RenewTime: metav1.Now(), LeaseDurationSeconds: 10}
	held(false, "it was never taken")
	if _, _, err := lease.Get(t.Context()); err == nil {
		t.Error("there is none, and it was read")
	}
	held(false, "it was looked at")
	refuses = errors.New("no")
	if err := lease.Create(t.Context(), record); err == nil {
		t.Error("refused, it was made")
	}
	held(false, "it was refused")
	refuses = nil
	if err := lease.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	held(true, "it was made")
	clock.Step(DefaultTimes.RenewDeadline - 2*time.Second)
	held(true, "the last moment, from when it was asked for")
	refuses = errors.New("no")
	if err := lease.Update(t.Context(), record); err == nil {
		t.Error("refused, it was renewed")
	}
	held(false, "it was not renewed")
	refuses = nil
	if err := lease.Update(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	held(true, "it was renewed")
	clock.Step(DefaultTimes.RenewDeadline - time.Second)
	held(false, "so long ago by when that was asked for")
	if err := lease.Update(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	release := resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}
	refuses = errors.New("the reply is lost")
	if err := lease.Update(t.Context(), release); err == nil {
		t.Error("the reply was lost, and it was released")
	}
	held(false, "it may have been released")
}

// client-go releases a lease that it could not renew. Another process may hold it by then, or an act that was
// started under it may continue.
func TestOnlyALeaseThatIsHeldIsReleased(t *testing.T) {
	e, clock := newElection(t), clocktesting.NewFakeClock(time.Now())
	led := newLease(e.Clientset, e.Clientset, namespace, other, DefaultTimes)
	led.clock = clock
	e.write("")
	if _, _, err := led.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := led.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: other, LeaseDurationSeconds: 10}); err != nil {
		t.Fatal(err)
	}
	release := func(of, why string) {
		t.Helper()
		if _, _, err := led.Get(t.Context()); err != nil { // as client-go does before it releases
			t.Fatal(err)
		}
		if err := led.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}); !errors.Is(err, errLapsed) ||
			*e.lease().Spec.HolderIdentity != of {
			t.Errorf("%s: %v, held by %q", why, err, *e.lease().Spec.HolderIdentity)
		}
	}
	clock.Step(DefaultTimes.RenewDeadline)
	release(other, "it was not renewed in time")
	e.write(holder)
	release(holder, "another process has taken it")
}

// A clock may stand still, or a human may edit the lease: the API server knows who holds it.
func TestNotHeldOnceAnotherProcessHoldsIt(t *testing.T) {
	e := newElection(t)
	led := newLease(e.Clientset, e.Clientset, namespace, other, DefaultTimes)
	e.write("")
	if _, _, err := led.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := led.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: other, LeaseDurationSeconds: 10}); err != nil ||
		!led.Held() {
		t.Fatalf("%v, held: %t", err, led.Held())
	}
	e.write(holder)
	if record, _, err := led.Get(t.Context()); err != nil || record.HolderIdentity != holder || led.Held() {
		t.Errorf("%v, held: %t", err, led.Held())
	}
}

func TestNothingIsWrittenWithoutTheLease(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`))
	}))
	defer server.Close()
	lease := newLease(fake.NewClientset(), nil, namespace, holder, DefaultTimes)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	ours, err := lease.NewClient(&rest.Config{Host: server.URL}, client.Options{Scheme: scheme.Scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	object := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	}
	if err := ours.Create(t.Context(), object()); !errors.Is(err, errLapsed) || asked != 0 {
		t.Errorf("%v, %d requests", err, asked)
	}
	if err := ours.Get(t.Context(), client.ObjectKeyFromObject(object()), object()); err != nil {
		t.Errorf("reading is for everybody: %v", err)
	}
	if err := lease.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: holder}); err != nil {
		t.Fatal(err)
	}
	if err := ours.Create(t.Context(), object()); err != nil {
		t.Errorf("it is held: %v", err)
	}
}

// pausedMachine was paused together with its monotonic clock, but not with its wall clock.
type pausedMachine struct {
	*clocktesting.FakeClock
	now time.Time
}

func (p pausedMachine) Now() time.Time              { return p.now }
func (pausedMachine) Since(time.Time) time.Duration { return time.Second }

func TestALeaseLapsesWhileTheMachineIsPaused(t *testing.T) {
	renewed := time.Now()
	for past, held := range map[time.Duration]bool{
		-time.Hour: true, time.Second: true, DefaultTimes.RenewDeadline - time.Second: true, DefaultTimes.RenewDeadline: false, time.Hour: false,
	} {
		lease := newLease(fake.NewClientset(), nil, namespace, holder, DefaultTimes)
		lease.clock = pausedMachine{now: renewed.Add(past)}
		lease.renewTime.Store(&renewed)
		if lease.Held() != held {
			t.Errorf("%s later by the wall clock: held is %t", past, !held)
		}
	}
}
