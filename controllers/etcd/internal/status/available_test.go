package status

import (
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestAvailable(t *testing.T) {
	checkConditions(t, []row{
		{"the quota is exceeded", func(s *seen) {
			s.w.Alarms = []membership.Alarm{{ID: 101, Type: membership.AlarmNoSpace}}
		}, map[string]string{available: "False NoSpace the quota is exceeded"}},
		{"the data differs", func(s *seen) {
			s.w.Alarms = []membership.Alarm{{ID: 0, Type: membership.AlarmNoSpace}, {ID: 101, Type: membership.AlarmCorrupt}}
		}, map[string]string{available: "False DataCorrupt the data of members differs"}},
	})
}
