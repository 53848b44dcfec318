package volumes

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// RefuseShrinking says that the spec asks for less than the StatefulSet's volumes have: only growth that was refused can be taken
// back.
func RefuseShrinking(list *[]metav1.Condition, generation int64, asked resource.Quantity, set *appsv1.StatefulSet) {
	if made := SizeOfNew(set, asked); compare(made, asked) > 0 {
		why := fmt.Sprintf("storage.size: volumes cannot shrink, and stay as they are: set it to %s or more", made.String())
		conditions.SetProblem(list, nil, generation, &conditions.Problem{Reason: commonv1.ReasonInvalidSpec, Message: why, NeedsHuman: true})
	}
}

// SetResizing says how far the volumes have grown, if they were ever to grow.
func SetResizing(list *[]metav1.Condition, generation int64, g Growth) {
	const conditionType = commonv1.ConditionStorageResizing
	switch {
	case g.Refusal != "":
		conditions.Set(list, generation, conditionType, true, commonv1.ReasonRefusedByServer, g.Refusal)
		conditions.Set(list, generation, commonv1.ConditionDegraded, true, commonv1.ReasonRefusedByServer, g.Refusal)
		conditions.Set(list, generation, commonv1.ConditionReady, false, commonv1.ReasonRefusedByServer, g.Refusal)
	case len(g.Undersized) > 0:
		message := fmt.Sprintf("the volumes of %s are to grow to %s%s", strings.Join(g.Undersized, ", "), g.Size.String(), g.Message)
		conditions.Set(list, generation, conditionType, true, commonv1.ReasonResizing, message)
		conditions.Set(list, generation, commonv1.ConditionProgressing, true, commonv1.ReasonRollingOut, message)
		conditions.Set(list, generation, commonv1.ConditionReady, false, commonv1.ReasonRollingOut, message)
	case meta.FindStatusCondition(*list, conditionType) != nil:
		conditions.Set(list, generation, conditionType, false, commonv1.ReasonResized, "every volume is as large as storage.size asks for")
	}
}
