package fleet

import (
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// The pass that leads clients elsewhere writes no role on a pod: kube-proxy would delay the route of the next failover.
func TestNoPodRoleIsWrittenInThePassThatRoutes(t *testing.T) {
	u := recordedSet(3, false)
	p := u.direct()
	p.SinceRouted = time.Hour
	p.Redis.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-1", To: p.Redis.Status.Master}
	changed, err := p.NoteRouted(quiet)
	if err != nil || !changed || p.Redis.Status.LastFailover.RoutedAt == nil || p.Situation().PodRolesDelay() == 0 {
		t.Errorf("%v: routed at %v, %s ago", err, p.Redis.Status.LastFailover.RoutedAt, p.SinceRouted)
	}
}
