package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

var failoverMessages = map[string]string{
	commonv1.ReasonNoMaster:             "the operator knows of no master",
	commonv1.ReasonNoReplicaInSync:      "no replica is in sync",
	commonv1.ReasonTooFewReplicasInSync: "too few replicas are in sync to be sure that one has every confirmed write",
	commonv1.ReasonReplicasInSync:       "losing the master now would lose no confirmed write",
}

// setFailoverPossible says whether the loss of the master now would lose no confirmed write.
func setFailoverPossible(list *[]metav1.Condition, generation int64, s topology.Situation) {
	_, why := s.QuorumMargin()
	conditions.Set(list, generation, commonv1.ConditionFailoverPossible, why == commonv1.ReasonReplicasInSync, why, failoverMessages[why])
}
