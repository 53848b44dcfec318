package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fakekube"
)

const (
	// backgroundWriters write at once, without a pause.
	backgroundWriters = 4
	// backgroundTime and timePerObject are what it may take to make a background load, and to delete it. By default, each of Kubernetes'
	// controllers sends 20 requests a second, and needs several for one object.
	backgroundTime, timePerObject = 10 * time.Minute, time.Second
	// backgroundPolling is rare, because each look lists all objects.
	backgroundPolling = 10 * time.Second
	// headStart is which part of the objects, a tenth, others have made before the first fault: Kubernetes' controllers are behind by then.
	headStart = 10
	// maxSurplus is how many times as many objects as the row says there may be at once.
	maxSurplus = 2
	// hugeBackground takes so long that a row with as many objects or more is run only if FOCUS names the number.
	hugeBackground = 10_000
)

// retryBackoff is how others retry a request that fails: for some 25 s.
var retryBackoff = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 9}

// backgroundLoad is what others do in a namespace of their own, from before the first fault of a row until after the last. Its pods run on
// a node that is simulated: no machine has room for so many.
type backgroundLoad struct {
	objects   int // at least
	namespace string
	node      *fakekube.Node
	// types of its objects, which are deleted before the namespace.
	types []client.Object
	// written is how many of its writes have succeeded since the objects that come first were made; started, how many pods had started
	// by then.
	written atomic.Int64
	started int
	// writes is nil if the objects rest. stop ends the writing, and returns why others gave up; ended is closed when they write no more.
	writes writeFunc
	stop   func() error
	ended  chan struct{}
}

// writeFunc is what others do again and again. n counts.
type writeFunc func(ctx context.Context, n int) error

// amongFunc makes what is there before the first fault, and returns what others do until after the last one: nil if they rest.
type amongFunc func(ctx context.Context, b *backgroundLoad) writeFunc

// killAmong is a row of kills among so many objects of others. Its name says how many.
func killAmong(name string, objects int, among amongFunc) faultRow {
	return faultRow{name: fmt.Sprintf(name, thousands(objects)), everywhere: true, long: 10, moves: true, objects: objects, among: among,
		inject: kill}
}

// thousands are separated by a comma, as people write them.
func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

// timeForBackground is what it may take to make that many objects, or to delete them.
func timeForBackground(objects int) time.Duration {
	if objects == 0 {
		return 0
	}
	return backgroundTime + time.Duration(objects)*timePerObject
}

// isSelected reports whether this report has the row. One with a background load takes too long for a short report, and one with a huge
// load needs FOCUS as well.
func (f faultRow) isSelected(focus []string) bool {
	if f.among == nil {
		return true
	}
	number := thousands(f.objects)
	return long && (f.objects < hugeBackground || slices.ContainsFunc(focus, func(s string) bool { return strings.Contains(s, number) }))
}

// startBackground returns once the row's objects are there or, if others write on, once they have a head start. It is nil for a row without
// a background load.
func startBackground(ctx context.Context, f faultRow, s *subject) *backgroundLoad {
	GinkgoHelper()
	if f.among == nil {
		return nil
	}
	config, _, err := cluster.Dial()
	Expect(err).NotTo(HaveOccurred())
	b := &backgroundLoad{objects: f.objects, namespace: createNamespace(ctx).Name, stop: func() error { return nil }}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(func(ctx context.Context) {
		defer end() // the node's pods do not end without it
		b.remove(ctx)
	}, NodeTimeout(maxSurplus*timeForBackground(f.objects)))
	b.node, err = fakekube.StartNode(running, config, k8s.Scheme(), b.namespace)
	Expect(err).NotTo(HaveOccurred())
	b.writes = f.among(ctx, b)
	if b.writes == nil {
		// Kubernetes' controllers write the endpoints of what is ready for a long time.
		Eventually(s.endpoints.Still).WithContext(ctx).WithTimeout(timeForBackground(f.objects)).Should(BeNumerically(">", stillness))
		return b
	}
	b.write(running)
	b.untilWritten(ctx, f.objects/headStart)
	b.started = b.node.Started()
	return b
}

// write until stop is called, or a request keeps failing.
func (b *backgroundLoad) write(ctx context.Context) {
	writing, enough := context.WithCancel(ctx)
	b.ended = make(chan struct{})
	var failed error
	go func() {
		defer close(b.ended)
		failed = cluster.ForEach(writing, backgroundWriters, math.MaxInt, func(n int) error {
			// By ctx: stop lets the writes that run end, and reports none of them as failed.
			if err := persistently(ctx, func(ctx context.Context) error { return b.writes(ctx, n) }); err != nil {
				return err
			}
			b.written.Add(1)
			return nil
		})
	}()
	b.stop = func() error {
		enough()
		<-b.ended
		return failed
	}
}

// untilWritten waits until others have written that often.
func (b *backgroundLoad) untilWritten(ctx context.Context, writes int) {
	GinkgoHelper()
	Eventually(func() (int64, error) { return b.written.Load(), b.continues() }).WithContext(ctx).WithTimeout(timeForBackground(b.objects)).
		Should(BeNumerically(">=", writes))
}

// continues is nil while others write. They write until stop is called, unless a request has kept failing.
func (b *backgroundLoad) continues() error {
	select {
	case <-b.ended:
		return StopTrying("others gave up").Wrap(b.stop())
	default:
		return nil
	}
}

// make all objects, before the first fault.
func (b *backgroundLoad) make(ctx context.Context, newObjects func(n int) []client.Object) {
	GinkgoHelper()
	Expect(cluster.ForEach(ctx, backgroundWriters, b.objects, func(n int) error {
		return persistently(ctx, func(ctx context.Context) error { return create(ctx, newObjects(n)...) })
	})).To(Succeed())
}

// untilAll waits until that many objects are counted.
func (b *backgroundLoad) untilAll(ctx context.Context, count func(context.Context) (int, error)) {
	GinkgoHelper()
	Eventually(count).WithContext(ctx).WithTimeout(timeForBackground(b.objects)).WithPolling(backgroundPolling).
		Should(BeNumerically(">=", b.objects))
}

// writesSoFar are those of others that have succeeded.
func (b *backgroundLoad) writesSoFar() int64 {
	if b == nil {
		return 0
	}
	return b.written.Load()
}

// isBusy reports whether others write.
func (b *backgroundLoad) isBusy() bool { return b != nil && b.writes != nil }

// hasProceeded returns an error if others should write, and have stopped or written nothing since before.
func (b *backgroundLoad) hasProceeded(before int64) error {
	if !b.isBusy() {
		return nil
	}
	if b.written.Load() == before {
		return errors.Join(b.continues(),
			errors.New("others wrote nothing between the fault and its end, so the row does not show what its name says"))
	}
	return b.continues()
}

// end the writing after the last fault, once there are as many objects as the row says.
func (b *backgroundLoad) end(ctx context.Context) {
	GinkgoHelper()
	if !b.isBusy() {
		return
	}
	pods := b.node.Started() - b.started
	Expect(pods).To(BeNumerically(">", 0), "no pod of others started between the first fault and the last, "+
		"so Kubernetes' controllers did not do what others wrote")
	b.untilWritten(ctx, b.objects)
	Expect(b.stop()).To(Succeed(), "others gave up")
	AddReportEntry("what others did meanwhile", fmt.Sprintf("%d writes; %d pods started between the first fault and the last",
		b.written.Load(), pods))
}

// remove all of it. The garbage collector and the operator have less to do when the objects go before the namespace.
func (b *backgroundLoad) remove(ctx context.Context) {
	GinkgoHelper()
	errs := []error{b.stop()}
	for _, of := range b.types {
		// The API server ends a request that takes a minute. What it has deleted until then is gone.
		errs = append(errs, persistently(ctx, func(ctx context.Context) error {
			return k8s.DeleteAllOf(ctx, of, client.InNamespace(b.namespace))
		}))
	}
	errs = append(errs, cluster.DeleteNamespaces(ctx, k8s, maxSurplus*timeForBackground(b.objects), b.namespace))
	if b.node != nil {
		errs = append(errs, b.node.Remove(context.WithoutCancel(ctx))) // or the node stays if the time is up
	}
	Expect(errors.Join(errs...)).To(Succeed())
}

// create objects. One that an earlier try has created, whose reply was lost, is no failure.
func create(ctx context.Context, objects ...client.Object) error {
	for _, obj := range objects {
		if err := k8s.Create(ctx, obj); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}
	return nil
}

// persistently retries a request by retryBackoff, since a single failure is no reason to end the row.
func persistently(ctx context.Context, request func(context.Context) error) error {
	var last error
	if err := wait.ExponentialBackoffWithContext(ctx, retryBackoff, func(ctx context.Context) (bool, error) {
		last = request(ctx)
		return last == nil, nil
	}); err != nil {
		return errors.Join(err, last)
	}
	return nil
}
