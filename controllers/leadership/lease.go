// Package leadership lets one of several managers act, and another one as soon as that has ended.
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

// Times of the lease.
type Times struct {
	// Lease is how long a leader leads from the last renewal that others have seen.
	Lease time.Duration
	// Renew is how long a leader acts from its last renewal. What it began then has to end
	// before the lease does.
	Renew time.Duration
	// Retry is the time between two renewals.
	Retry time.Duration
}

// DefaultTimes are shorter than the 15, 10 and 2 s of Kubernetes' own components, and send no more
// requests, since those in waiting watch the lease instead of asking for it: docs/benchmarks.md. The
// 5 s between Renew and Lease are theirs.
var DefaultTimes = Times{Lease: 10 * time.Second, Renew: 5 * time.Second, Retry: time.Second}

// Lease is what the manager that leads holds, and what the others wait for. It tells whether this
// process leads: the leader election ends one that has lost its lease, but gives it the
// whole renew deadline to notice, and a process that was stopped and wakes would act beside its
// successor for so long.
type Lease struct {
	*resourcelock.LeaseLock
	times   Times
	clock   clock.Clock
	watched kubernetes.Interface
	renewed atomic.Pointer[time.Time]
}

// New makes the lease of the managers in the namespace, for this process, which does not hold it yet.
func New(config *rest.Config, namespace string, times Times) (*Lease, error) {
	if namespace == "" {
		return nil, errors.New("--leader-elect is for pods: this process runs as no ServiceAccount, whose namespace the lease would be in")
	}
	pod, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this process: %w", err)
	}
	watched, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("watching the lease: %w", err)
	}
	limited := rest.CopyConfig(config) // one slow answer is not to cost the lease
	limited.Timeout = max(times.Renew/2, time.Second)
	asked, err := kubernetes.NewForConfig(limited)
	if err != nil {
		return nil, fmt.Errorf("renewing the lease: %w", err)
	}
	return newLease(asked, watched, namespace, identity(pod, string(uuid.NewUUID())), times), nil
}

func newLease(asked, watched kubernetes.Interface, namespace, identity string, times Times) *Lease {
	return &Lease{
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
			Client:     asked.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		times: times, clock: clock.RealClock{}, watched: watched,
	}
}

// Elect makes a manager of these options take part in the election.
func (l *Lease) Elect(options ctrl.Options) ctrl.Options {
	options.LeaderElection, options.LeaderElectionID = true, leaseName
	options.LeaderElectionResourceLockInterface, options.LeaderElectionReleaseOnCancel = l, true
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &l.times.Lease, &l.times.Renew, &l.times.Retry
	options.NewClient = l.NewClient
	return options
}

// Tell of the election by events of this recorder.
func (l *Lease) Tell(recorder events.EventRecorder) {
	l.LockConfig.EventRecorder = told{recorder}
}

// told has the leader election, which knows the old API of events, write those of the new one.
type told struct{ events.EventRecorder }

func (t told) Eventf(object runtime.Object, eventType, reason, message string, args ...any) {
	t.EventRecorder.Eventf(object, nil, eventType, reason, "Elect", message, args...)
}

// Create the lease, held by this process.
func (l *Lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	asked := l.clock.Now()
	return l.granted(record, asked, l.LeaseLock.Create(ctx, record))
}

// Update the lease: renew, take or release it.
func (l *Lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	asked := l.clock.Now()
	return l.granted(record, asked, l.LeaseLock.Update(ctx, record))
}

// granted notes a write of the lease: what is granted is granted from when it was asked for.
func (l *Lease) granted(record resourcelock.LeaderElectionRecord, asked time.Time, err error) error {
	switch {
	case err != nil:
	case record.HolderIdentity == l.Identity():
		l.renewed.Store(&asked)
	default:
		l.renewed.Store(nil)
	}
	return err
}

// Held is true while nobody else can lead. Either clock may prove the opposite: the monotonic
// one stands still while a virtual machine is paused, the wall clock can be set back.
func (l *Lease) Held() bool {
	renewed := l.renewed.Load()
	return renewed != nil && l.clock.Since(*renewed) < l.times.Renew && l.clock.Now().Round(0).Sub(renewed.Round(0)) < l.times.Renew
}
