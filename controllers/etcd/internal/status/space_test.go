package status

import (
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestSpaceLow(t *testing.T) {
	checkConditions(t, []row{
		{"most of the quota is in use", func(s *seen) { s.use(80, 100, 1) }, map[string]string{
			ready: "True Replicas", available: "True Quorum",
			degraded: "True QuotaNearlyReached a-1 holds 1638 MiB of data, old revisions included, which is 80% of the quota of 2048 MiB"}},
		{"what counts is the quota that the members run with, not that of the next pods", func(s *seen) {
			for i := range s.w.Members {
				s.w.Members[i].Pod.Quota = 4 << 30
			}
			s.use(90, 95, 1)
		}, map[string]string{degraded: "False AsExpected"}},
		{"what counts is what is in use, not the file", func(s *seen) { s.use(79, 99, 1) }, map[string]string{degraded: "False AsExpected"}},
		{"the warning stays until there is room", func(s *seen) {
			s.warned(commonv1.ReasonQuotaNearlyReached)
			s.use(70, 100, 1)
		}, map[string]string{
			degraded: "True QuotaNearlyReached"}},
		{"the warning stays after an alarm was taken back", func(s *seen) {
			s.warned(commonv1.ReasonNoSpace)
			s.use(75, 100, 1)
		}, map[string]string{
			degraded: "True QuotaNearlyReached"}},
		{"the warning ends once there is room", func(s *seen) {
			s.warned(commonv1.ReasonQuotaNearlyReached)
			s.use(69, 100, 1)
		}, map[string]string{degraded: "False AsExpected"}},
		{"another problem is no warning", func(s *seen) { s.warned(commonv1.ReasonDataLost); s.use(75, 100, 1) }, map[string]string{
			degraded: "False AsExpected"}},
		{"a human is asked for room also while the operator makes some", func(s *seen) {
			s.use(97, 100, 1)
			s.w.Alarms = []membership.Alarm{{ID: 101, Type: membership.AlarmNoSpace}}
			s.next = membership.Step{Do: membership.Compact, Member: "a-0"}
		}, map[string]string{ready: "False NoSpace", degraded: "True NoSpace a-1 holds"}},
	})
}
