package leadership

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const namespace, other = "ns", "manager-b_2"

// election is what two managers see of each other: their pods and the lease.
type election struct {
	*testing.T
	*fake.Clientset
	standby *Lease
}

// newElection makes an election with the lease of a holder who has just renewed it.
func newElection(t *testing.T) *election {
	t.Helper()
	e := &election{T: t, Clientset: fake.NewClientset()}
	e.standby = newLease(e.Clientset, e.Clientset, namespace, other, DefaultTimes)
	e.write(holder)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podOf(holder)}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "manager"}}
	if _, err := e.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return e
}

// write writes the lease as its holder does now.
func (e *election) write(holder string) {
	e.Helper()
	e.record(resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 10, RenewTime: metav1.Now(),
		AcquireTime: metav1.Now()})
}

func (e *election) record(record resourcelock.LeaderElectionRecord) {
	e.Helper()
	leases := e.CoordinationV1().Leases(namespace)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Spec: resourcelock.LeaderElectionRecordToLeaseSpec(&record)}
	_, err := leases.Update(e.Context(), lease, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(e.Context(), lease, metav1.CreateOptions{})
	}
	if err != nil {
		e.Fatal(err)
	}
}

// report reports the end of a container of the holder's pod, as the kubelet does.
func (e *election) report(end *corev1.ContainerStateTerminated) {
	e.Helper()
	pod, err := e.CoreV1().Pods(namespace).Get(e.Context(), podOf(holder), metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = end
	if _, err := e.CoreV1().Pods(namespace).UpdateStatus(e.Context(), pod, metav1.UpdateOptions{}); err != nil {
		e.Fatal(err)
	}
}

// wait waits for the lease as the standby does, and returns what the standby gets, and when.
func (e *election) wait() <-chan string {
	got := make(chan string, 1)
	start := time.Now()
	go func() {
		record, _, err := e.standby.Get(e.Context())
		after := time.Since(start).Round(100 * time.Millisecond)
		if err != nil {
			got <- fmt.Sprintf("%s: %v", after, err)
			return
		}
		got <- fmt.Sprintf("%s: held by %q", after, record.HolderIdentity)
	}()
	synctest.Wait()
	return got
}

func TestStandby(t *testing.T) {
	type play func(e *election)
	after := func(d time.Duration, then play) play {
		return func(e *election) { <-time.After(d); then(e); synctest.Wait() }
	}
	renew := func(e *election) { e.write(holder) }
	says := func(words, reason string) play { return func(e *election) { e.report(end(words, reason)) } }
	for name, c := range map[string]struct {
		plays []play
		want  string
	}{
		"no process renews":            {want: `10s: held by ""`},
		"renewed once":                 {[]play{after(3*time.Second, renew)}, `13s: held by ""`},
		"renewed in the last moment":   {[]play{after(9900*time.Millisecond, renew), after(9*time.Second, renew)}, `28.9s: held by ""`},
		"the kubelet reports its end":  {[]play{after(2*time.Second, says(holder, "Error"))}, `2s: held by ""`},
		"of its end, after a renewal":  {[]play{after(time.Second, renew), after(time.Second, says(holder, "OOMKilled"))}, `2s: held by ""`},
		"of the container before":      {[]play{after(2*time.Second, says("manager-a_0", "Error"))}, `10s: held by ""`},
		"an end that was not observed": {[]play{after(2*time.Second, says(holder, "ContainerStatusUnknown"))}, `10s: held by ""`},
		"its pod is gone":              {[]play{after(2*time.Second, (*election).deletePod)}, `10s: held by ""`},
		"it gives the lease up":        {[]play{after(2*time.Second, func(e *election) { e.write("") })}, `2s: held by ""`},
		"another takes it, who renews it": {[]play{after(9*time.Second, func(e *election) { e.write("manager-c_3") }),
			after(9*time.Second, func(e *election) { e.write("manager-c_3") })}, `28s: held by ""`},
		"another takes it, then it ends": {[]play{after(2*time.Second, func(e *election) { e.write("manager-c_3") }),
			after(2*time.Second, says(holder, "Error"))}, `13s: held by ""`},
		"the lease is deleted": {[]play{after(2*time.Second, (*election).deleteLease)},
			`2s: leases.coordination.k8s.io "mainstay-operator.io" not found`},
		"its release has a longer lease":    {[]play{after(time.Second, (*election).renewLonger)}, `16s: held by ""`},
		"somebody else writes to the lease": {[]play{after(5*time.Second, (*election).label)}, `10s: held by ""`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newElection(t)
				result := e.wait()
				for _, play := range c.plays {
					play(e)
				}
				if got := <-result; got != c.want {
					t.Errorf("after %s, want %s", got, c.want)
				}
			})
		})
	}
}

func (e *election) deletePod() {
	if err := e.CoreV1().Pods(namespace).Delete(e.Context(), podOf(holder), metav1.DeleteOptions{}); err != nil {
		e.Fatal(err)
	}
}

func (e *election) deleteLease() {
	if err := e.CoordinationV1().Leases(namespace).Delete(e.Context(), leaseName, metav1.DeleteOptions{}); err != nil {
		e.Fatal(err)
	}
}

// renewLonger writes the lease as a holder of the last release does: for 15 s.
func (e *election) renewLonger() {
	e.record(resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15, RenewTime: metav1.Now(),
		AcquireTime: metav1.Now()})
}

func (e *election) lease() *coordinationv1.Lease {
	e.Helper()
	lease, err := e.CoordinationV1().Leases(namespace).Get(e.Context(), leaseName, metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	return lease
}

func (e *election) label() {
	leases, lease := e.CoordinationV1().Leases(namespace), e.lease()
	lease.Labels = map[string]string{"a": "b"}
	if _, err := leases.Update(e.Context(), lease, metav1.UpdateOptions{}); err != nil {
		e.Fatal(err)
	}
}

// The API server fails just when the lease runs out. The standby learns of that as soon as the API server answers
// again.
func TestWaitingContinuesWhenTheAPIServerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		failing := time.Now().Add(DefaultTimes.LeaseDuration / 2)
		e.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if away := time.Since(failing); away >= 0 && away < DefaultTimes.LeaseDuration {
				return true, nil, errors.New("the API server is away")
			}
			return false, nil, nil
		})
		if got := <-e.wait(); got != "10s: the API server is away" {
			t.Error(got)
		}
		<-time.After(DefaultTimes.LeaseDuration / 2)
		if got := <-e.wait(); got != `0s: held by ""` {
			t.Error(got)
		}
	})
}

// A renewal that the watch did not report is seen before the lease is taken.
func TestVacancyIsOfTheLeaseAsItIs(t *testing.T) {
	then := metav1.Now()
	now := resourcelock.LeaderElectionRecord{HolderIdentity: holder, RenewTime: metav1.NewTime(then.Add(time.Second))}
	for name, c := range map[string]struct {
		v    vacancy
		want bool
	}{
		"there is none":                     {vacancy{}, false},
		"it has run out":                    {vacancy{holder: holder, renewed: now.RenewTime}, true},
		"it was renewed since":              {vacancy{holder: holder, renewed: then}, false},
		"no renewal was seen, there is one": {vacancy{holder: holder}, false},
		"its holder has ended":              {vacancy{holder: holder, ended: true}, true},
		"another holder has ended":          {vacancy{holder: other, ended: true}, false},
		"another holder's has run out":      {vacancy{holder: other, renewed: now.RenewTime}, false},
	} {
		if c.v.appliesTo(now) != c.want {
			t.Errorf("%s: %t", name, !c.want)
		}
	}
}

// elect runs the leader election for a lease until the context ends, and reports when it leads.
func elect(ctx context.Context, t *testing.T, lease *Lease, release bool) <-chan time.Time {
	t.Helper()
	leads := make(chan time.Time, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lease, LeaseDuration: lease.times.LeaseDuration, RenewDeadline: lease.times.RenewDeadline, RetryPeriod: lease.times.RetryPeriod,
		ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leads <- time.Now() },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	go elector.Run(ctx)
	return leads
}

// The leader renews, the standby polls nothing and leads at once when the leader has ended or released the
// lease.
func TestElection(t *testing.T) {
	for name, c := range map[string]struct {
		release bool
		report  func(e *election)
		after   time.Duration
	}{
		"the leader is killed":    {report: func(e *election) { e.report(end(holder, "Error")) }},
		"the leader ends well":    {release: true, report: func(*election) {}},
		"the leader falls silent": {report: func(*election) {}, after: DefaultTimes.LeaseDuration},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newElection(t)
				e.write("") // by the one before
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				first := newLease(e.Clientset, e.Clientset, namespace, holder, DefaultTimes)
				<-elect(ctx, t, first, c.release)
				second := elect(t.Context(), t, e.standby, true)
				synctest.Wait()
				e.ClearActions()
				const long = 30
				<-time.After(long * time.Second)
				synctest.Wait()
				if len(second) > 0 || !first.Held() || e.standby.Held() {
					t.Fatal("the first leader does not lead alone")
				}
				if sent := len(e.Actions()); sent < long-1 || sent > long+1 {
					t.Errorf("%d requests in %d s, where only the leader should send one a second", sent, long)
				}
				stopped := time.Now()
				stop()
				synctest.Wait()
				c.report(e)
				led := (<-second).Sub(stopped)
				if led < c.after-DefaultTimes.RetryPeriod || led > c.after+time.Millisecond || !e.standby.Held() {
					t.Errorf("the next one leads after %s, held: %t", led, e.standby.Held())
				}
				if taken := e.lease().Spec.AcquireTime; taken.Time.Before(stopped.Truncate(time.Microsecond)) {
					t.Errorf("it says that it took the lease at %s, before %s", taken, stopped)
				}
				if proven := c.after == 0 && !c.release; !proven && first.Held() {
					t.Error("the first one may act, too")
				}
			})
		})
	}
}
