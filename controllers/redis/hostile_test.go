package redis

import (
	"fmt"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// A server may say what it likes of its replicas: only servers that the operator asks have a series.
func TestForgedReplicasAreNoSeries(t *testing.T) {
	var m memory
	r := &cachev1alpha1.Redis{}
	r.Namespace, r.Name, r.UID = "ns", "forged", "uid"
	key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	now := clock.RealClock{}.Now()
	before := testutil.CollectAndCount(lagGauge)
	for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
		m.Of(r).watched.trackSilence(address, wire.Reached, now)
	}
	behind := map[string]int64{"10.0.0.2": 7, "\xff\xfe": 1}
	for i := range 10_000 {
		behind[fmt.Sprintf("10.1.%d.%d", i/256, i%256)] = 1
	}
	m.Of(r).watched.noteReply(key, "10.0.0.1", behind, now)
	if got := testutil.CollectAndCount(lagGauge) - before; got != 1 {
		t.Errorf("%d series, want that of the one replica", got)
	}
	if got := testutil.ToFloat64(lagGauge.WithLabelValues("ns", "forged", "10.0.0.2")); got != 7 {
		t.Errorf("lag %v", got)
	}
	m.Forget(key)
	forgetMetrics(key)
	if got := testutil.CollectAndCount(lagGauge); got != before {
		t.Errorf("%d series are left", got-before)
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
	f := &fleet{spec: config.Resolve(s.Redis), World: s.World}
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
