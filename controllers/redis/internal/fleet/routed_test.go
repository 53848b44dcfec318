package fleet

import (
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// A promotion that is only intended leads no client, also if the node was master before.
func TestARouteIsNewOnceItsMasterIsRecorded(t *testing.T) {
	p := recordedSet(3, false).direct()
	recorded := p.Redis.Status.Replication.Epoch
	for epoch, want := range map[int64]bool{recorded: true, recorded + 1: false} {
		p.Redis.Status.LastFailover = &cachev1alpha1.RedisFailover{Epoch: epoch, To: p.Redis.Status.Master}
		if p.IsRouteNew() != want {
			t.Errorf("the record has epoch %d, and %d was promoted last: new is %t", recorded, epoch, !want)
		}
	}
}

// The pass that leads clients elsewhere writes no role on a pod: kube-proxy would delay the route of the next failover.
func TestNoPodRoleIsWrittenInThePassThatRoutes(t *testing.T) {
	u := recordedSet(3, false)
	p := u.direct()
	p.SinceRouted = time.Hour
	p.Redis.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-1", To: p.Redis.Status.Master}
	if !p.IsRouteNew() {
		t.Error("its route is not new")
	}
	err := p.NoteRouted(quiet)
	if err != nil || p.Redis.Status.LastFailover.RoutedAt == nil || p.Situation().PodRolesDelay() == 0 {
		t.Errorf("%v: routed at %v, %s ago", err, p.Redis.Status.LastFailover.RoutedAt, p.SinceRouted)
	}
}
