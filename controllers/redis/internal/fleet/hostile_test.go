package fleet

import (
	"fmt"
	"maps"
	"testing"

	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// A server may say what it likes of its replicas: only servers that the operator asks have a lag, and none once the object is gone.
func TestForgedReplicasAreNoSeries(t *testing.T) {
	known, now, calls := knownOfNone(), clock.RealClock{}.Now(), 0
	var lag map[string]int64
	setLag := func(behind map[string]int64) { lag = behind; calls++ }
	for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
		known.watched.trackSilence(address, wire.Reached, now)
	}
	behind := map[string]int64{"10.0.0.2": 7, "\xff\xfe": 1}
	for i := range 10_000 {
		behind[fmt.Sprintf("10.1.%d.%d", i/256, i%256)] = 1
	}
	known.watched.noteReply("10.0.0.1", behind, now, setLag)
	if want := map[string]int64{"10.0.0.2": 7}; !maps.Equal(lag, want) {
		t.Errorf("%d replicas have a lag, want the one that is asked", len(lag))
	}
	known.Drop()
	known.watched.noteReply("10.0.0.1", behind, now, setLag) // a watch that ends late
	if calls != 1 {
		t.Error("a lag is set of an object that is gone")
	}
}

// The operator does not connect to an address just because a server names it.
func TestOnlyPodsAndTheRecordAreAsked(t *testing.T) {
	s := fixture.Healthy(3)
	for i := range s.Nodes {
		s.Nodes[i].MasterHost = "forged.example"
		for n := range 64 {
			s.Nodes[i].Attached = append(s.Nodes[i].Attached, fmt.Sprintf("10.9.9.%d", n))
		}
	}
	s.Ghost = &topology.Node{Name: "a-0", Address: "10.0.0.9"}
	f := &Fleet{Spec: config.Resolve(s.Redis), World: s.World}
	own := map[string]bool{"10.0.0.9": true}
	for _, m := range s.Nodes {
		own[m.Address] = true
	}
	addresses := f.addresses()
	if len(addresses) != len(own) {
		t.Errorf("these addresses are asked: %q", addresses)
	}
	for _, address := range addresses {
		if !own[address] {
			t.Errorf("%s is asked", address)
		}
	}
}
