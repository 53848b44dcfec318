package controllers

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lease tells whether this process leads. The leader election ends one that has lost
// its lease, but gives it the whole renew deadline to notice: a process that was
// stopped and wakes would act beside its successor for so long.
type Lease struct {
	deadline time.Duration
	clock    clock.PassiveClock
	renewed  atomic.Pointer[time.Time]
}

// NewLease makes one that is not held. Not renewed for the deadline, it counts as
// lost; it must last longer than that.
func NewLease(deadline time.Duration) *Lease {
	return &Lease{deadline: deadline, clock: clock.RealClock{}}
}

// errLapsed is of a write that could be another leader's by now.
var errLapsed = errors.New("not sent: the lease was not renewed in time, another process may lead")

// Held is true while nobody else can lead. Either clock may prove the opposite: the monotonic
// one stands still while a virtual machine is paused, the wall clock can be set back.
func (l *Lease) Held() bool {
	renewed := l.renewed.Load()
	return renewed != nil && l.clock.Since(*renewed) < l.deadline && l.clock.Now().Round(0).Sub(renewed.Round(0)) < l.deadline
}

// Electing gives a config for the leader election, whose renewals are seen by it.
func (l *Lease) Electing(config *rest.Config) *rest.Config {
	return wrapped(config, func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
		asked := l.clock.Now() // what is granted, is granted from then on
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode < http.StatusMultipleChoices && writes(request) && strings.Contains(request.URL.Path, "/leases") {
			l.renewed.Store(&asked)
		}
		return response, err
	})
}

// NewClient makes the manager's client: it writes nothing when the lease is not held.
func (l *Lease) NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	options.HTTPClient = nil // it is made of the config
	return client.New(wrapped(config, func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
		if writes(request) && !l.Held() {
			return nil, errLapsed
		}
		return next.RoundTrip(request)
	}), options)
}

func writes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

func wrapped(config *rest.Config, trip func(http.RoundTripper, *http.Request) (*http.Response, error)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) { return trip(next, r) })
	})
	return config
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
