package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// setAvailable says whether a master takes writes and, if none does, what is waited for.
func setAvailable(list *[]metav1.Condition, generation int64, s topology.Situation, next topology.Step) {
	master, serving := s.ServingMaster()
	switch {
	case serving:
		conditions.Set(list, generation, commonv1.ConditionAvailable, true, commonv1.ReasonMasterServes, master.Name+" takes writes")
	case s.Ghost == nil && master.IsBusy():
		conditions.Set(list, generation, commonv1.ConditionAvailable, false, commonv1.ReasonMasterBusy, masterBusyMessage(master))
	default:
		conditions.Set(list, generation, commonv1.ConditionAvailable, false, commonv1.ReasonNoMaster, noMasterMessage(next))
	}
}

// masterBusyMessage says since when a script has kept the master busy, and how a human ends it. A time instead of a
// duration, so that the message stays the same until the script ends. The user of the applications may send SCRIPT KILL
// but no SHUTDOWN, which is an administrator's.
func masterBusyMessage(m topology.Node) string {
	return fmt.Sprintf(
		"a script or function has kept the master %s busy since %s: it answers BUSY, and serves again when that ends; nothing is promoted. "+
			"To end it, send SCRIPT KILL, or FUNCTION KILL for a function, to %s. One that has already written ends only with its server, as by "+
			"SHUTDOWN NOSAVE: "+
			"delete the pod %s, and what it wrote is lost", m.Name, m.ErroringSince.UTC().Format(time.RFC3339), m.Name, m.Name)
}

// noMasterMessage says what is waited for.
func noMasterMessage(next topology.Step) string {
	if next.Do == topology.Wait && next.Message != "" {
		return "no node is known to take writes: " + next.Message
	}
	return "no node is known to take writes"
}
