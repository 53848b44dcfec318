package topology_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// A mistake in the spec stops a rollout at the first pod, and a correction must end that.
func TestACorrectedSpecReplacesPodsWithoutAServer(t *testing.T) {
	// replaced gives nodes new pods of an outdated template, which the record does not name.
	replaced := func(s *Scene, nodes ...int) {
		for _, n := range nodes {
			m := &s.Nodes[n]
			m.PodUID, m.Outdated, m.NotStarted = "another-"+m.PodUID, true, true
			MakeSilent(m)
		}
	}
	// crashed are new pods with volumes, whose containers have started and ended.
	crashed := func(s *Scene, nodes ...int) {
		WithVolumes(s)
		replaced(s, nodes...)
		for _, n := range nodes {
			s.Nodes[n].NotStarted, s.Nodes[n].Stopped = false, true
			Claims(s, s.Nodes[n].Name, "1Gi", "1Gi")
		}
	}
	notFormed := func(s *Scene) {
		for n := range s.Nodes {
			replaced(s, n)
		}
		s.Status = cachev1alpha1.RedisStatus{}
	}
	for _, c := range []struct {
		reason  string
		size    int32
		given   func(*Scene)
		failing []string
	}{
		{"nothing fails", 3, Outdated(0, 1, 2), nil},
		{"a pod that never started is replaced", 3, func(s *Scene) { replaced(s, 2) }, []string{"a-2"}},
		{"a pod whose server has ended is replaced", 3, func(s *Scene) { crashed(s, 1) }, []string{"a-1"}},
		{"a pod that runs another server is replaced", 3,
			func(s *Scene) { replaced(s, 2); s.Nodes[2].NotStarted = false; Refused(&s.Nodes[2]) }, []string{"a-2"}},
		{"a pod of the latest template is not replaced", 3, func(s *Scene) { replaced(s, 2); s.Nodes[2].Outdated = false }, nil},
		{"a pod that is being deleted is not deleted again", 3, func(s *Scene) { replaced(s, 2); s.Nodes[2].Deleting = true }, nil},
		{"a pod that may run and does not answer is not replaced", 3, func(s *Scene) { replaced(s, 2); s.Nodes[2].NotStarted = false }, nil},
		{"a server that answers is not replaced, whatever its kubelet has reported", 3,
			func(s *Scene) { Outdated(2)(s); s.Nodes[2].NotStarted, s.Nodes[2].PodUID = true, "another" }, nil},
		{"a recorded pod is not replaced: its container may restart with its data", 3,
			func(s *Scene) { Outdated(1)(s); MakeSilent(&s.Nodes[1]); s.Nodes[1].Stopped = true }, nil},
		{"a recorded pod is not replaced because its node is behind with its report", 3,
			func(s *Scene) { Outdated(1)(s); MakeSilent(&s.Nodes[1]); s.Nodes[1].NotStarted = true }, nil},
		{"pods whose servers have ended are replaced one at a time", 3, func(s *Scene) { crashed(s, 0, 1, 2) }, []string{"a-2"}},
		{"a pod whose server has ended is replaced once another shows that the template works", 3,
			func(s *Scene) { crashed(s, 0, 1) }, []string{"a-1"}},
		{"a pod whose server has ended may start again while the current template fails elsewhere", 3,
			func(s *Scene) { crashed(s, 0, 1); Refused(&s.Nodes[2]) }, nil},
		{"a pod whose server has ended may start again while another is replaced", 3,
			func(s *Scene) { crashed(s, 0, 1); s.Nodes[2].Deleting = true }, nil},
		{"a pod whose server has ended may start again while another is missing", 3,
			func(s *Scene) { crashed(s, 0, 1); s.Nodes = s.Nodes[:2] }, nil},
		{"pods that never started go before one whose server has ended", 3, func(s *Scene) { crashed(s, 1); replaced(s, 2) }, []string{"a-2"}},
		{"a pod whose server has ended stays while its claim goes with it", 3, func(s *Scene) {
			crashed(s, 1)
			s.Volumes["a-1"].Claim.DeletionTimestamp = ptr.To(metav1.Now())
		}, nil},
		{"a pod whose server has ended stays while its claim is not known", 3,
			func(s *Scene) { crashed(s, 1); delete(s.Volumes, "a-1") }, nil},
		{"before there was a master, pods that never started are replaced", 3, notFormed, []string{"a-0", "a-1", "a-2"}},
		{"before there was a master, pods whose servers have ended are replaced", 3,
			func(s *Scene) { notFormed(s); s.Nodes[1].NotStarted, s.Nodes[1].Stopped = false, true }, []string{"a-0", "a-1", "a-2"}},
		{"without storage, a pod whose server has ended is replaced", 3,
			func(s *Scene) { replaced(s, 1); s.Nodes[1].NotStarted, s.Nodes[1].Stopped = false, true }, []string{"a-1"}},
		{"a pod that may just have been promoted is not replaced", 3, func(s *Scene) {
			replaced(s, 1)
			s.Nodes[1].NotStarted, s.Nodes[1].Stopped = false, true
			s.Status.TargetMaster, s.Status.Epoch = "a-1", 8
		}, nil},
		{"after hibernation, the former master's pod is replaced as any other", 1, func(s *Scene) {
			crashed(s, 0)
			s.Status = cachev1alpha1.RedisStatus{TargetMaster: "a-0", Epoch: 7}
		}, []string{"a-0"}},
		{"a pod without storage is not replaced when its record was lost", 1, func(s *Scene) {
			replaced(s, 0)
			s.Nodes[0].NotStarted, s.Nodes[0].Stopped = false, true
			s.Status = cachev1alpha1.RedisStatus{Epoch: 7}
		}, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := Healthy(c.size)
			c.given(s)
			if got := s.Situation().FailingPods(); !slices.Equal(got, c.failing) {
				t.Errorf("got %v, want %v", got, c.failing)
			}
		})
	}
}
