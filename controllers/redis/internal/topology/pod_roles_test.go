package topology_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// podsWithRoles are the pods of a scene: a-0 shows the master, the others a replica in sync.
func podsWithRoles(s *fixture.Scene) []corev1.Pod {
	var list []corev1.Pod
	for _, m := range s.Nodes {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: m.Name, UID: m.PodUID,
			Labels: map[string]string{topology.LabelRole: topology.RoleReplica}}}
		if m.Name == "a-0" {
			pod.Labels[topology.LabelRole] = topology.RoleMaster
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: topology.GateInSync, Status: corev1.ConditionTrue}}
		list = append(list, pod)
	}
	return list
}

// moved the clients from a-0 to a-1, so long ago.
func moved(s *fixture.Scene, ago time.Duration) {
	s.Status.LastFailover, s.SinceRouted = &cachev1alpha1.RedisFailover{From: "a-0", To: "a-1"}, ago
}

func TestOutdatedPodRoles(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*fixture.Scene)
		want   []string
	}{
		{"nothing differs", func(*fixture.Scene) {}, nil},
		{"who is no longer in sync", func(s *fixture.Scene) { s.Nodes[1].LinkUp = false }, []string{"a-1 replica false"}},
		{"not right after another became master", func(s *fixture.Scene) {
			s.Nodes[1].LinkUp = false
			moved(s, topology.OldClientTime-time.Millisecond)
		}, nil},
		{"not when the same is master again", func(s *fixture.Scene) {
			s.Nodes[1].LinkUp = false
			moved(s, topology.OldClientTime-time.Millisecond)
			s.Status.LastFailover.To = "a-0"
		}, nil},
		{"the new master does not get its role at once", func(s *fixture.Scene) {
			fixture.MasterIs(s, 2)
			moved(s, topology.OldClientTime-time.Millisecond)
		}, nil},
		{"it does once old clients were disconnected for long enough", func(s *fixture.Scene) {
			fixture.MasterIs(s, 1)
			moved(s, topology.OldClientTime)
		}, []string{"a-0 replica true", "a-1 master true"}},
		{"the first master does at once", func(s *fixture.Scene) { fixture.MasterIs(s, 1); moved(s, 0); s.Status.LastFailover.From = "" },
			[]string{"a-0 replica true", "a-1 master true"}},
		{"one that is master again is, too", func(s *fixture.Scene) { fixture.MasterIs(s, 1); moved(s, 0); s.Status.LastFailover.To = "a-0" },
			[]string{"a-0 replica true", "a-1 master true"}},
		{"without a master nothing is taken back", func(s *fixture.Scene) { fixture.MakeSilent(&s.Nodes[0]); s.Nodes[1].LinkUp = false }, nil},
		{"who does not answer is left as it is", func(s *fixture.Scene) { fixture.MakeSilent(&s.Nodes[1]) }, nil},
		{"who goes as well", func(s *fixture.Scene) { s.Nodes[1].LinkUp, s.Nodes[1].Deleting = false, true }, nil},
		{"another master", func(s *fixture.Scene) { fixture.MasterIs(s, 2) }, []string{"a-0 replica true", "a-2 master true"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := fixture.Healthy(3)
			pods := podsWithRoles(s)
			c.given(s)
			var got []string
			for _, m := range s.Situation().OutdatedPodRoles(pods) {
				got = append(got, fmt.Sprint(m.Pod.Name, " ", m.Role, " ", m.InSync))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
