package activity

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"
)

// leader is an operator whose every call waits for its turn, so that it can be
// stopped between any two calls while others continue, and be woken much later.
type leader struct {
	*operator
	resume     chan bool     // true: continue to the next call; false: you were killed
	paused     chan struct{} // it waits, or it is dead
	loseAnswer bool          // the answer of the next call is lost
}

func (f *fakeCluster) leader() *leader {
	l := &leader{operator: f.operator(), resume: make(chan bool), paused: make(chan struct{})}
	dead := false
	turn := func() bool {
		if !dead {
			l.paused <- struct{}{}
			dead = !<-l.resume
		}
		return !dead
	}
	l.intercept = func(_ string, do func() error) error {
		if !turn() {
			return oncetest.ErrKilled
		}
		err := do()
		if l.loseAnswer {
			l.loseAnswer = false
			return oncetest.ErrAnswerLost
		}
		return err
	}
	go func() {
		for turn() {
			_ = l.reconcileOnce()
		}
		close(l.paused)
	}()
	<-l.paused
	return l
}

// step lets the leader make one call.
func (l *leader) step() { l.resume <- true; <-l.paused }

func (l *leader) die() {
	l.resume <- false
	for range l.paused { // the pass that was under way runs out, its calls all failing
	}
}

// TestStorm lets two leaders that do not know of each other meet every kind of fault. The
// invariants are checked after every write; in the end all must be finished.
func TestStorm(t *testing.T) {
	for seed := range uint64(120) {
		t.Run(fmt.Sprintf("%03d", seed), func(t *testing.T) {
			chance := rand.New(rand.NewPCG(seed, 0))
			w := newFakeCluster(t, 1, 2, runsForever, 0)
			w.sidecarState = []*corev1.ContainerState{nil, &sidecarRunning, &sidecarFailed}[seed%3]
			spec := egov1.ActivitySpec{Retries: 3}
			if seed%2 == 1 {
				spec.RetryPolicy, spec.StartDeadline = defaultRetryPolicy, &metav1.Duration{Duration: time.Minute}
			}
			w.submit(spec)
			leaders := []*leader{w.leader(), w.leader()}
			for range 150 {
				chosen := chance.IntN(2)
				switch dice := chance.IntN(100); {
				case dice < 60:
					leaders[chosen].step()
				case dice < 75:
					w.kubelet()
				case dice < 82: // two watches: one may lag behind the other
					leaders[chosen].syncActivity()
				case dice < 88:
					leaders[chosen].syncPods()
				case dice < 92:
					leaders[chosen].loseAnswer = true
				case dice < 95:
					leaders[chosen].die()
					leaders[chosen] = w.leader()
				case dice < 97: // the leaders' clocks stand until they are followed
					w.now = w.now.Add(time.Duration(chance.IntN(30)) * time.Second)
				case dice < 98:
					suspend(w, chance.IntN(2) == 0)
				default:
					w.disturb(chance, spec)
				}
			}
			for _, l := range leaders {
				l.die()
			}
			cancel(w) // or the third attempt runs for ever
			w.operator().runUntilQuiet()
			w.checkFinished()
		})
	}
}

// disturb does one thing that users and neighbours do.
func (f *fakeCluster) disturb(chance *rand.Rand, spec egov1.ActivitySpec) {
	a := f.activity()
	switch dice := chance.IntN(10); {
	case a == nil:
		f.submit(spec)
	case dice < 3:
		deletePods(f)
	case dice < 5:
		deleteActivity(f)
	case dice < 6:
		cancel(f)
	case dice < 8: // somebody copies the manifest of the pod to come, gate and owner and all
		copied := desiredPod(a, egov1.Attempt{PodName: podName(a, int32(len(a.Status.Attempts))+1)})
		_ = f.server.Create(context.Background(), copied)
	default: // somebody forces a pod away
		for _, p := range f.pods() {
			p.Finalizers = nil
			f.must(f.server.Update(context.Background(), &p))
			f.must(f.server.Delete(context.Background(), &p))
			break
		}
	}
}

// checkFinished checks what must be true at the end of any storm.
func (f *fakeCluster) checkFinished() {
	f.t.Helper()
	if a := f.activity(); a != nil && !a.Status.Prosta.Finished() {
		f.t.Errorf("not finished: %+v", a.Status)
	}
	if a := f.activity(); a != nil {
		for _, attempt := range a.Status.Attempts {
			if attempt.Reason == commonv1.ReasonStartDeadlineExceeded && f.ranPods[attempt.PodUID] {
				f.t.Errorf("attempt %d ran though it was too late: %+v", attempt.Number, a.Status)
			}
		}
	}
	for _, p := range f.pods() {
		if hasFinalizer(&p) || once.IsGated(&p) || p.Status.Phase == corev1.PodRunning {
			f.t.Errorf("pod %s was left: %v %v %s", p.Name, p.Finalizers, p.Spec.SchedulingGates, p.Status.Phase)
		}
	}
}
