package children

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// Nothing else wakes the controller once a server has written its file.
func TestClaimsAreLookedAtAgainWhileServersWriteFiles(t *testing.T) {
	for _, c := range []struct {
		reason    string
		retention cachev1alpha1.RedisRetention
		saving    bool
		left      bool
		want      time.Duration
	}{
		{"a node has left and a server writes its file", cachev1alpha1.RedisDelete, true, true, filesRecheck},
		{"a node has left and no server writes", cachev1alpha1.RedisDelete, false, true, 0},
		{"no node has left", cachev1alpha1.RedisDelete, true, false, 0},
		{"claims are kept", cachev1alpha1.RedisRetain, true, true, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := fixture.WithVolumes(fixture.Healthy(2))
			s.Spec.Storage.Retention, s.Nodes[0].Saving = c.retention, c.saving
			if c.left {
				fixture.SetStamp(s, "a-2", 7, topology.Behind)
			}
			if got := RecheckClaims(s.Redis, s.Situation()); got != c.want {
				t.Errorf("looked at again after %s, want %s", got, c.want)
			}
		})
	}
}

// The StatefulSet's controller makes a pod by what it saw last, and the pod needs its claim.
func TestAClaimIsNeededWhileItsPodMayBeMade(t *testing.T) {
	for _, c := range []struct {
		name     string
		replicas int32
		observed int64
		want     bool
	}{
		{"the controller has seen that the pod is to go", 2, 1, true},
		{"the StatefulSet still has a pod of that name", 3, 1, false},
		{"the controller has not seen the size", 2, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fixture.WithVolumes(fixture.Healthy(2))
			fixture.SetStamp(s, "a-2", 7, topology.Behind)
			set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(c.replicas)}}
			set.Generation, set.Status.ObservedGeneration = 1, c.observed
			if got := ClaimRetention(s.Redis, s.Situation(), set).IsUnneeded("a-2", nil); got != c.want {
				t.Errorf("unneeded: %t", got)
			}
		})
	}
}
