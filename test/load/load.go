// Package load uses the samples as applications do while the operator is installed, upgraded and removed. Its clients count the requests
// that failed and the confirmed writes that are missing, and it notes which pods were replaced or restarted and which masters changed.
package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

const (
	// pollInterval is how often Use checks whether all clients are served.
	pollInterval = 200 * time.Millisecond
	// watchTime is how long Watch watches: a new leader looks at each object at once.
	watchTime = 5 * time.Second
	// enough requests that were served show that a client is served.
	enough = 10
)

// Workloads are samples in a namespace that clients use.
type Workloads struct {
	reader    client.Reader
	namespace string
	objects   []*unstructured.Unstructured
	clients   *clients
	// pods and epochs are those from before the change of the operator.
	pods   map[string]string
	epochs map[string]int64
}

// Use starts to use samples that are ready, until Stop is called. It returns when the clients are served, and forgets what failed before:
// kube-proxy may not know the Services yet. Afterwards each failure counts.
func Use(ctx context.Context, c client.Client, namespace string, samples []*unstructured.Unstructured) (*Workloads, error) {
	return use(ctx, c, traffic.ByClusterIP(c), namespace, samples)
}

func use(ctx context.Context, c client.Client, network traffic.Network, namespace string, samples []*unstructured.Unstructured) (*Workloads,
	error) {
	w := &Workloads{reader: c, namespace: namespace, objects: samples}
	var err error
	if w.pods, err = Pods(ctx, c, namespace); err != nil {
		return nil, err
	}
	if err := Ready(ctx, c, samples); err != nil { // it reads the samples' status, too
		return nil, err
	}
	w.epochs = epochsOf(samples)
	if w.clients, err = startClients(ctx, c, network, samples); err != nil {
		return nil, err
	}
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		return w.clients.servedSince(nil) == nil, nil
	})
	if err != nil {
		w.Stop()
		return nil, errors.Join(err, w.clients.servedSince(nil), w.clients.failure())
	}
	w.clients.forgive()
	return w, nil
}

// Stop ends the clients, and waits for the request that each has under way.
func (w *Workloads) Stop() { w.clients.stop() }

// Requests are how many requests were served so far, by sample.
func (w *Workloads) Requests() map[string]int { return w.clients.requests() }

// Failure returns an error if a request has failed. A confirmation of a Redis's replica that took longer than the writer waits is no
// failure: a busy machine has them, too.
func (w *Workloads) Failure() error { return w.clients.failure() }

// Watch watches the workloads after a change of the operator for 5 s, and returns an error if a request fails or one of the others holds no
// longer; then it returns what Untouched does.
func (w *Workloads) Watch(ctx context.Context, others ...func() error) error {
	since := w.Requests()
	err := wait.PollUntilContextTimeout(ctx, pollInterval, watchTime, true, func(context.Context) (bool, error) {
		errs := []error{w.Failure()}
		for _, other := range others {
			errs = append(errs, other())
		}
		return false, errors.Join(errs...)
	})
	if ctx.Err() != nil || !wait.Interrupted(err) {
		return err
	}
	return w.Untouched(ctx, since)
}

// Untouched returns an error unless each client was served since those requests, no request has failed, the same containers run in
// the same pods, each Redis has the same master, and all samples are ready.
func (w *Workloads) Untouched(ctx context.Context, since map[string]int) error {
	pods, err := Pods(ctx, w.reader, w.namespace)
	if err != nil {
		return err
	}
	errs := []error{w.clients.servedSince(since), w.clients.failure(), difference("pod", w.pods, pods), Ready(ctx, w.reader, w.objects)}
	return errors.Join(append(errs, difference("epoch of Redis", w.epochs, epochsOf(w.objects)))...)
}

// Lost returns the writes that a Redis has confirmed and does not have any more. The clients must have been stopped.
func (w *Workloads) Lost(ctx context.Context) ([]string, error) {
	if w.clients.writer == nil {
		return nil, errors.New("the samples have no Redis: nothing was written that could be lost")
	}
	return w.clients.writer.Lost(ctx)
}

// difference returns an error for each name whose value is another than before.
func difference[V comparable](what string, before, now map[string]V) error {
	names := maps.Clone(before)
	maps.Copy(names, now)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(names)) {
		former, had := before[name]
		value, has := now[name]
		switch {
		case !has:
			errs = append(errs, fmt.Errorf("%s %s is gone, it was %v", what, name, former))
		case !had:
			errs = append(errs, fmt.Errorf("%s %s is new: %v", what, name, value))
		case former != value:
			errs = append(errs, fmt.Errorf("%s %s was %v, and is %v", what, name, former, value))
		}
	}
	return errors.Join(errs...)
}
