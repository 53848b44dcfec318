package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// together is how many crashes are tried at a time: they mostly wait.
const together = 8

var _ = Describe("Crash:", func() {
	forEachKind("ends in the same state wherever a call goes wrong", func(ctx SpecContext, k kind) {
		golden, err := crash(ctx, k, "", fault.None)
		Expect(err).NotTo(HaveOccurred())
		Expect(golden.calls).NotTo(BeEmpty())

		type point struct {
			call  string
			fault fault.Fault
		}
		var points []point
		for i, call := range golden.calls {
			for _, f := range faults(i) {
				points = append(points, point{call, f})
			}
		}
		var group sync.WaitGroup
		failures := make([]error, len(points))
		slots := make(chan struct{}, together)
		for i, p := range points {
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				ended, err := crash(ctx, k, p.call, p.fault)
				switch {
				case err != nil:
					failures[i] = fmt.Errorf("%s at %q: %w", p.fault, p.call, err)
				case ended.state != golden.state:
					failures[i] = fmt.Errorf("%s at %q: another end state: %s", p.fault, p.call, firstDifference(golden.state, ended.state))
				}
			})
		}
		group.Wait()
		Expect(errors.Join(failures...)).To(Succeed())
		AddReportEntry(fmt.Sprintf("%s: %d crash points", k.name, len(points)))
	})
})

// faults that are tried at the n-th call: all in which something is lost, and of
// the refusals, which all leave the same state, one in turn. LONG=1 tries all.
func faults(n int) []fault.Fault {
	if os.Getenv("LONG") != "" {
		return fault.All
	}
	return append(slices.Clone(fault.Lost), fault.Refusals[n%len(fault.Refusals)])
}

type outcome struct {
	calls []string // identities of the writes, in order, each once
	state string
}

// crash runs an object's life from nothing to rest with one fault at the first
// call of that identity. A process that died is followed by a new one.
func crash(ctx context.Context, k kind, at string, what fault.Fault) (outcome, error) {
	namespace, err := k.makeNamespace(ctx)
	if err != nil {
		return outcome{}, err
	}
	struck := false // the Wire decides on one call at a time
	o, err := launch(namespace, func(c fault.Call) fault.Fault {
		if struck || !writes(c) || c.ID() != at {
			return fault.None
		}
		struck = true
		return what
	}, images)
	if err != nil {
		return outcome{}, err
	}
	defer func() { o.stop() }()

	obj := k.sample()
	obj.SetNamespace(namespace)
	if err := admin.Create(ctx, obj); err != nil {
		return outcome{}, err
	}
	if what.Crash() {
		if err := await(ctx, func() error {
			if !o.Crashed() {
				return fmt.Errorf("the call was never made")
			}
			return nil
		}); err != nil {
			return outcome{}, err
		}
		o.stop()
		if o, err = launch(namespace, nil, images); err != nil {
			return outcome{}, err
		}
	}
	return o.waitForOutcome(ctx, k, obj)
}

// waitForOutcome waits for rest: the object is done and what is seen of it stands still.
func (o *operator) waitForOutcome(ctx context.Context, k kind, obj client.Object) (outcome, error) {
	last := ""
	err := await(ctx, func() error {
		if err := k.done(ctx, obj); err != nil {
			return err
		}
		now, err := stateOf(ctx, obj)
		if err == nil && now != last {
			err = fmt.Errorf("the state still changes: %s", firstDifference(last, now))
		}
		last = now
		return err
	})
	seen, calls := map[string]bool{}, []string{}
	for _, c := range o.Calls(writes) {
		if !seen[c.ID()] {
			seen[c.ID()] = true
			calls = append(calls, c.ID())
		}
	}
	return outcome{calls: calls, state: last}, err
}

// await is Eventually for code that runs in parallel to the spec.
func await(ctx context.Context, check func() error) error {
	const interval = 50 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	deadline := time.After(eventuallyTimeout)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return check()
		case <-ticker.C:
			if check() == nil {
				return nil
			}
		}
	}
}

// same is what firstDifference says of equal texts.
const same = "no difference"

// firstDifference is what to read of two long texts.
func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("%q, then %q", strings.TrimSpace(as[i]), strings.TrimSpace(bs[i]))
		}
	}
	if a == b {
		return same
	}
	return fmt.Sprintf("%d lines, then %d", len(as), len(bs))
}
