package controllers

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// Only a restart ends a stuck pass, and it wipes out every trace of it.
func TestAStuckPassFailsTheProbeAndIsLoggedOnce(t *testing.T) {
	var logged []string
	log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	clock := clocktesting.NewFakePassiveClock(time.Now())
	passes := &converge.ReconcileTracker{Clock: clock}
	check := livenessCheck(passes, log)
	pass := passes.Start(t.Context(), "Redis", types.NamespacedName{Namespace: "shop", Name: "a"})
	if err := check(nil); err != nil {
		t.Errorf("a pass that has just started: %v", err)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	for range 3 {
		if err := check(nil); err == nil {
			t.Error("a pass of an hour is no fault")
		}
	}
	if len(logged) != 1 || !strings.Contains(logged[0], "shop/a") ||
		!strings.Contains(logged[0], "TestAStuckPassFailsTheProbeAndIsLoggedOnce") {
		t.Errorf("want the object and the stacks once, got %q", logged)
	}
	pass.End()
	if err := check(nil); err != nil {
		t.Errorf("it has ended: %v", err)
	}
}

func TestReadyFromFullCachesToTheEnd(t *testing.T) {
	f := &cachesSynced{}
	if f.NeedLeaderElection() {
		t.Error("a standby would never be ready")
	}
	if f.check(nil) == nil {
		t.Error("ready before the manager says that its caches are full")
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Start(ctx) }()
	for f.check(nil) != nil { // the test's own deadline ends it
		select {
		case err := <-ended:
			t.Fatalf("it ends by itself: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	end()
	if err := <-ended; err != nil || f.check(nil) == nil {
		t.Errorf("ready beyond its end, or %v", err)
	}
}
