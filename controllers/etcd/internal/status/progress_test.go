package status

import (
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestProgress(t *testing.T) {
	checkConditions(t, []row{
		{"between two minor versions", func(s *seen) {
			s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2 to agree"}
		}, map[string]string{ready: "False RollingOut waiting for a-2 to agree", progressing: "True RollingOut waiting for a-2 to agree",
			available: "True"}},
		{"a learner is yet to be a voter", func(s *seen) {
			s.next = membership.Step{Do: membership.PromoteMember, Member: "a-2"}
		}, map[string]string{ready: "False RollingOut making a voter of a-2", progressing: "True RollingOut making a voter of a-2"}},
		{"a pod goes", func(s *seen) { s.next = membership.Step{Do: membership.DeletePod, Member: "a-2"} }, map[string]string{
			ready: "False RollingOut deleting the pod of a-2"}},
		{"maintenance is no rollout", func(s *seen) { s.next = membership.Step{Do: membership.Defragment, Member: "a-2"} }, map[string]string{
			ready: "True Replicas", progressing: "False RolledOut"}},
		{"a lead that moves is no rollout", func(s *seen) {
			s.next = membership.Step{Do: membership.MoveLeader, Member: "a-0"}
		}, map[string]string{
			ready: "True Replicas", progressing: "False RolledOut"}},
	})
}
