package status

import (
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/gitopstest"
)

func TestWhatGitOpsToolsSeeOfAnEtcdCluster(t *testing.T) {
	upgrade := membership.Step{Do: membership.SetVersion, Version: "3.7.3", Image: "etcd:7"}
	for _, c := range []struct {
		name    string
		arrange func(*seen)
		want    gitopstest.Verdict
	}{
		{"it is at rest", func(*seen) {}, gitopstest.Current},
		{"a member is silent", func(s *seen) { s.silence(2) }, gitopstest.InProgress},
		{"a human must decide", func(s *seen) { s.block(commonv1.ReasonUnknownMember) }, gitopstest.Failed},
		{"a pause holds nothing back", func(s *seen) { s.e.Spec.Paused = true }, gitopstest.Current},
		{"a pause holds an upgrade back", func(s *seen) { s.e.Spec.Paused, s.next = true, upgrade }, gitopstest.InProgress},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSeen()
			c.arrange(s)
			s.e.Status = New(s.inputs())
			gitopstest.Check(t, s.e, c.want)
		})
	}
}
