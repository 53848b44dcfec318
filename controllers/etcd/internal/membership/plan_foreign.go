package membership

import (
	"fmt"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// blockOnForeignData asks a human while members do not start, as their volumes have the data of another cluster. Somebody has bound
// retained volumes to their claims, and an empty cluster next to that data would hide it.
func (s Situation) blockOnForeignData() (Step, bool) {
	var found, names []string
	for _, m := range s.recorded() {
		if m.Pod.Foreign != "" && !m.View.IsOfServer() && !s.hasLostData(m) {
			names, found = append(names, m.Name), append(found, fmt.Sprintf("%s (%s)", m.Name, m.Pod.Foreign))
		}
	}
	return Step{Do: Block, Reason: commonv1.ReasonDataExists, RequeueAfter: time.Second, Message: fmt.Sprintf(
		"the volumes of %s have the data of another cluster or member, in the directories in parentheses: no member starts next to it, "+
			"and nothing is deleted. If the API server was put back to an earlier state, that data may be of a member that was replaced "+
			"since, and is not needed. If that data is needed, set the reclaim policy of the PersistentVolumes to Retain, and copy it. "+
			"Then delete these directories, or delete the PersistentVolumeClaims and the pods of %s: the next pods get new volumes",
		strings.Join(found, ", "), strings.Join(names, ", "))}, len(found) > 0
}
