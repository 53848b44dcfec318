package membership

import (
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

func TestMayOrphanPods(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*scene)
		step    Verb
		want    bool
	}{
		{"at rest", func(*scene) {}, Idle, true},
		{"a full disk is what a larger volume repairs", func(s *scene) { s.silence(1) }, Block, true},
		{"the members change", func(s *scene) {
			s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdAdd, Name: "a-3"}
		}, Idle, false},
		{"a pod is outdated", func(s *scene) { s.outdate(1) }, Idle, false},
		{"a pod is going", func(s *scene) { s.Members[1].Pod.Deleting = true }, Idle, false},
		{"a pod is yet to come", func(s *scene) { s.Members[1].Pod = Pod{} }, Wait, false},
		{"a pod cannot say yet whose it is", func(s *scene) { s.replacePod(1) }, Wait, false},
		{"a pod of a former member", func(s *scene) { s.forget(2) }, Idle, false},
		{"a pod was deleted in this pass", func(*scene) {}, DeletePod, false},
		{"what was looked at is no more so", func(*scene) {}, SetVersion, false},
		{"nothing is recorded", func(s *scene) { s.Status.Membership, s.Members = nil, nil }, Block, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.arrange(s)
			if got := s.MayOrphanPods(Step{Do: c.step}); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
