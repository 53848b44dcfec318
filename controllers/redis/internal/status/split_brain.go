package status

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// setSplitBrain names the nodes that take writes at the same time. The wrong ones are fenced within the pass,
// where there is a record of who is right.
func setSplitBrain(list *[]metav1.Condition, generation int64, w topology.World, next topology.Step) {
	masters := topology.NamesOf(w.Where(func(m topology.Node) bool { return m.Answers() && m.Master }))
	if len(masters) < 2 {
		conditions.Set(list, generation, commonv1.ConditionSplitBrain, false, commonv1.ReasonOneMaster, "no second node takes writes")
		return
	}
	message := strings.Join(masters, " and ") + " take writes"
	if next.Message != "" {
		message += ": " + next.Message
	}
	conditions.Set(list, generation, commonv1.ConditionSplitBrain, true, commonv1.ReasonSeveralMasters, message)
}
