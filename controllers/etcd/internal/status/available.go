package status

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// setAvailable says whether reads and writes are served, which takes a majority, and no alarm.
func setAvailable(list *[]metav1.Condition, generation int64, s membership.Situation) {
	voters := len(s.Where(membership.Member.IsVoter))
	healthy := len(s.Where(func(m membership.Member) bool { return isRecorded(m) && m.IsVoter() && m.IsHealthy() }))
	raised := func(kind string) bool {
		return slices.ContainsFunc(s.Alarms, func(a membership.Alarm) bool { return a.Type == kind })
	}
	serves, reason, message := false, commonv1.ReasonNoQuorum, "no majority of the voters is known to be healthy"
	switch {
	case voters == 0 || healthy <= voters/2:
	case raised(membership.AlarmCorrupt):
		reason, message = commonv1.ReasonDataCorrupt, "the data of members differs (alarm CORRUPT): neither reads nor writes are served"
	case raised(membership.AlarmNoSpace):
		reason, message = commonv1.ReasonNoSpace, "the quota is exceeded (alarm NOSPACE): reads are served, writes are refused"
	default:
		serves, reason, message = true, commonv1.ReasonQuorum, fmt.Sprintf("%d of %d voters are healthy, which is a majority", healthy, voters)
	}
	conditions.Set(list, generation, commonv1.ConditionAvailable, serves, reason, message)
}
