package fleet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// slowServer is a server that takes that long for each answer, and is master whatever it is sent.
type slowServer struct {
	server
	takes time.Duration
}

func (s slowServer) answer(ctx context.Context) error {
	ready := time.NewTimer(s.takes)
	defer ready.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-ready.C:
		return nil
	}
}

func (s slowServer) Look(ctx context.Context) wire.View {
	if s.answer(ctx) != nil {
		return wire.View{}
	}
	return wire.View{Answer: wire.Reached, Master: true, RunID: time.Now().String()}
}

func (s slowServer) Fence(ctx context.Context) error              { return s.answer(ctx) }
func (s slowServer) KillOtherOperators(ctx context.Context) error { return s.answer(ctx) }
func (s slowServer) Redial()                                      {}

// atOnce runs together what a real pass runs together.
type atOnce struct{ scripted }

func (atOnce) RunAll(ctx context.Context, all []func()) {
	command.All(ctx, "asking a Redis server", all)
}

// hostileSet of so many servers, as a pass sees it.
func hostileSet(nodes int, takes time.Duration) *Fleet {
	p := recordedSet(1, false).direct()
	p.operator.Clock, p.effects, p.Nodes = clock.RealClock{}, atOnce{}, nil
	for n := range nodes {
		m := topology.Node{Name: fmt.Sprintf("a-%d", n), Address: fmt.Sprintf("192.0.2.%d", n)}
		p.Nodes = append(p.Nodes, m)
		p.servers[m.Name] = slowServer{takes: takes}
	}
	return p
}

// However many servers there are, all are given up on at the same moment.
func TestALookIsBounded(t *testing.T) {
	for _, nodes := range []int{1, 9} {
		synctest.Test(t, func(t *testing.T) {
			p := hostileSet(nodes, time.Hour)
			started := time.Now()
			p.ask(t.Context())
			if took := time.Since(started); took != lookLimit {
				t.Errorf("%d servers: took %s, want %s", nodes, took, lookLimit)
			}
			for _, m := range p.addressable() {
				if m.Answer != wire.Silent {
					t.Errorf("%s is %v: who could not be asked in time is silent, and no more", m.Name, m.Answer)
				}
				m.WasSilent = true
			}
			started = time.Now()
			p.ask(t.Context())
			if took := time.Since(started); took != silentServerTimeout {
				t.Errorf("%d servers that were silent: took %s, want %s", nodes, took, silentServerTimeout)
			}
		})
	}
}

// Servers that answer just in time, over and over, hold a worker no longer than any other.
func TestAPassIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hostileSet(9, 250*time.Millisecond)
		started := time.Now()
		_, err := p.Act(t.Context(), topology.Step{Do: topology.Fence, NodeNames: []string{"a-0", "a-1"}})
		if took := time.Since(started); took > commandLimit || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %s, want an end after %s", err, took, commandLimit)
		}
	})
}

// What was seen when no time was left to look is no world to plan by.
func TestNothingIsPlannedByALookThatWasNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hostileSet(2, 700*time.Millisecond)
		ctx, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		next, err := p.execute(ctx, topology.Step{Do: topology.Fence, NodeNames: []string{"a-1"}})
		if err == nil || next.Do != topology.Fence {
			t.Errorf("%s (%s): %v", next, next.Message, err)
		}
	})
}
