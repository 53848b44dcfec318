package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/gitopstest"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

func TestWhatGitOpsToolsSeeOfARedis(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fixture.Scene)
		held   []string // what the pause holds back
		want   gitopstest.Verdict
	}{
		{"it is whole", func(*fixture.Scene) {}, nil, gitopstest.Current},
		{"a replica is silent", func(s *fixture.Scene) { fixture.MakeSilent(&s.Nodes[2]) }, nil, gitopstest.InProgress},
		{"a human must decide, or a node return", func(s *fixture.Scene) {
			fixture.Refused(&s.Nodes[0])
			fixture.FencedAt(&s.Nodes[1], 90)
			fixture.MakeSilent(&s.Nodes[2])
		}, nil, gitopstest.InProgress},
		{"it hibernates", func(s *fixture.Scene) {
			s.Spec.Hibernate, s.Status.Replication, s.Nodes = true, nil, nil
		}, nil, gitopstest.Current},
		{"a pause holds nothing back", func(s *fixture.Scene) { s.Spec.Paused = true }, nil, gitopstest.Current},
		{"a pause holds an edit back", func(s *fixture.Scene) { s.Spec.Paused = true }, []string{"StatefulSet/a"}, gitopstest.InProgress},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fixture.WithVolumes(fixture.Healthy(3))
			c.change(s)
			set := &appsv1.StatefulSet{}
			set.Generation, set.Status.ObservedGeneration, set.Status.Replicas = 2, 2, int32(len(s.Nodes))
			r := s.DeepCopy()
			r.Status = New(s.Redis, Inputs{Situation: s.Situation(), Next: s.Situation().Plan(), Set: set, Pods: readyPods(s)})
			conditions.SetPausedChanges(r.GetConditions(), r.Generation, c.held)
			gitopstest.Check(t, r, c.want)
		})
	}
}

// readyPods returns a pod of each node, as if all were ready.
func readyPods(s *fixture.Scene) []corev1.Pod {
	var pods []corev1.Pod
	for _, m := range s.Nodes {
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: m.Name},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}})
	}
	return pods
}
