// Package leadership elects the one manager that acts, and proves its end to the next one.
package leadership

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// leaseName is the name of the Lease.
const leaseName = "mainstay-operator.io"

// Times are the times of the lease. They mean what they mean in client-go's LeaderElectionConfig.
type Times struct {
	// LeaseDuration is how long a standby waits for a renewal before it takes the lease.
	LeaseDuration time.Duration
	// RenewDeadline is how long the leader acts after its last renewal. Whatever it has started by then must end
	// before the lease does.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two renewals.
	RetryPeriod time.Duration
}

// DefaultTimes are shorter than the 15, 10 and 2 s of Kubernetes' own components. They cost about as many requests,
// because a standby watches the lease and does not poll it: docs/benchmarks.md. The difference of LeaseDuration and
// RenewDeadline, 5 s, is the same.
var DefaultTimes = Times{LeaseDuration: 10 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: time.Second}

// Lease is the lock of the leader election. It also reports whether this process may act: the leader
// election ends a process that has lost its lease, but only after the whole renew deadline. Until
// then, a process that was stopped and wakes would act in parallel to its successor.
type Lease struct {
	*resourcelock.LeaseLock
	times  Times
	clock  clock.Clock
	client kubernetes.Interface
	// renewTime is when the last granted renewal was sent; nil before this process leads, and lapsed after.
	renewTime   atomic.Pointer[time.Time]
	acquireTime time.Time // when this process took the lease
	// observedRecord is the lease of another process as it was last seen to change; observedTime is when that was seen.
	observedRecord resourcelock.LeaderElectionRecord
	observedTime   time.Time
}

// lapsed is the renewal of a lease that this process no longer holds.
var lapsed = &time.Time{}

// New makes the lease for this process, in the managers' namespace. The process does not hold it yet.
func New(config *rest.Config, namespace string, times Times) (*Lease, error) {
	if namespace == "" {
		return nil, errors.New("--leader-elect needs a ServiceAccount, in whose namespace the lease is: run the manager in a pod, or without " +
			"that flag")
	}
	pod, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this process: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("watching the lease: %w", err)
	}
	limitedConfig := rest.CopyConfig(config) // one slow reply must not cost the lease
	limitedConfig.Timeout = max(times.RenewDeadline/2, time.Second)
	limitedClient, err := kubernetes.NewForConfig(limitedConfig)
	if err != nil {
		return nil, fmt.Errorf("renewing the lease: %w", err)
	}
	return newLease(limitedClient, client, namespace, identity(pod, string(uuid.NewUUID())), times), nil
}

func newLease(limitedClient, client kubernetes.Interface, namespace, identity string, times Times) *Lease {
	return &Lease{
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
			Client:     limitedClient.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		times: times, clock: clock.RealClock{}, client: client,
	}
}

// WithLeaderElection makes a manager of these options take part in the election.
func (l *Lease) WithLeaderElection(options ctrl.Options) ctrl.Options {
	options.LeaderElection, options.LeaderElectionID = true, leaseName
	options.LeaderElectionResourceLockInterface, options.LeaderElectionReleaseOnCancel = l, true
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &l.times.LeaseDuration, &l.times.RenewDeadline, &l.times.RetryPeriod
	options.NewClient = l.NewClient
	return options
}

// RecordEvents makes the election record its events through this recorder.
func (l *Lease) RecordEvents(recorder events.EventRecorder) {
	l.LockConfig.EventRecorder = eventRecorder{recorder}
}

// eventRecorder adapts the recorder of events.k8s.io to the older interface of the leader election.
type eventRecorder struct{ events.EventRecorder }

func (e eventRecorder) Eventf(object runtime.Object, eventType, reason, message string, args ...any) {
	e.EventRecorder.Eventf(object, nil, eventType, reason, "Elect", message, args...)
}

// Create creates the lease for the holder that the record names.
func (l *Lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := l.clock.Now()
	record = l.withTimes(record, sent)
	return l.recordRenewal(record, sent, l.LeaseLock.Create(ctx, record))
}

// Update renews, takes or releases the lease. The leader election also releases a lease that it could not renew in
// time. Then another process may hold the lease already, and an act of this one may continue: such a lease is left to run
// out.
func (l *Lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" {
		if !l.Held() {
			return errLapsed
		}
		l.renewTime.Store(lapsed) // at once: the reply may be lost
	}
	sent := l.clock.Now()
	record = l.withTimes(record, sent)
	return l.recordRenewal(record, sent, l.LeaseLock.Update(ctx, record))
}

// withTimes gives the record the time of the write: the leader election reads the clock before Get waits.
func (l *Lease) withTimes(record resourcelock.LeaderElectionRecord, sent time.Time) resourcelock.LeaderElectionRecord {
	if record.HolderIdentity != l.Identity() {
		return record
	}
	if l.renewTime.Load() == nil {
		l.acquireTime = sent
	}
	record.AcquireTime, record.RenewTime = metav1.NewTime(l.acquireTime), metav1.NewTime(sent)
	return record
}

// recordRenewal notes a renewal that was granted. It counts from when it was sent: the API server may have answered
// late.
func (l *Lease) recordRenewal(record resourcelock.LeaderElectionRecord, sent time.Time, err error) error {
	if err == nil && record.HolderIdentity == l.Identity() {
		l.renewTime.Store(&sent)
	}
	return err
}

// Held reports whether no other process can lead. Either clock can disprove it: the monotonic clock
// stands still while a virtual machine is paused, and the wall clock can be set back.
func (l *Lease) Held() bool {
	renewed := l.renewTime.Load()
	return renewed != nil && l.clock.Since(*renewed) < l.times.RenewDeadline &&
		l.clock.Now().Round(0).Sub(renewed.Round(0)) < l.times.RenewDeadline
}
