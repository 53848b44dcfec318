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

// Shrinking is the problem that the spec asks for less than the StatefulSet's volumes have; nil if it does not. Only growth that was
// refused can be taken back.
func Shrinking(asked resource.Quantity, set *appsv1.StatefulSet) *conditions.Problem {
	made := SizeOfNew(set, asked)
	if compare(made, asked) <= 0 {
		return nil
	}
	return &conditions.Problem{Reason: commonv1.ReasonInvalidSpec,
		Message: fmt.Sprintf("storage.size: volumes cannot shrink, and stay as they are: set it to %s or more", made.String())}
}

// Refused is the problem that the volumes may not grow; nil if they may.
func (g Growth) Refused() *conditions.Problem {
	if g.Refusal == "" {
		return nil
	}
	return &conditions.Problem{Reason: commonv1.ReasonRefusedByServer, Message: g.Refusal}
}

// SetResizing says how far the volumes have grown, if they were ever to grow.
func SetResizing(list *[]metav1.Condition, generation int64, g Growth) {
	const conditionType = commonv1.ConditionStorageResizing
	switch refused := g.Refused(); {
	case refused != nil:
		conditions.Set(list, generation, conditionType, true, refused.Reason, refused.Message)
		conditions.Set(list, generation, commonv1.ConditionReady, false, refused.Reason, refused.Message)
	case len(g.Undersized) > 0:
		message := fmt.Sprintf("the volumes of %s are to grow to %s%s", strings.Join(g.Undersized, ", "), g.Size.String(), g.Message)
		conditions.Set(list, generation, conditionType, true, commonv1.ReasonResizing, message)
		conditions.Set(list, generation, commonv1.ConditionProgressing, true, commonv1.ReasonRollingOut, message)
		conditions.Set(list, generation, commonv1.ConditionReady, false, commonv1.ReasonRollingOut, message)
	case meta.FindStatusCondition(*list, conditionType) != nil:
		conditions.Set(list, generation, conditionType, false, commonv1.ReasonResized, "every volume is as large as storage.size asks for")
	}
}
