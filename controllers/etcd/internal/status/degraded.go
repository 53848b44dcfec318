package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// setBlocked says what a human must decide, and what keeps a pod from starting, which may be the cause.
func setBlocked(list *[]metav1.Condition, in Inputs) {
	if in.Next.Do != membership.Block {
		return
	}
	p := conditions.Problem{Reason: in.Next.Reason, Message: in.Next.Message, NeedsHuman: true}
	if failure := in.failure(); failure != "" {
		p.Message += "; " + failure
	}
	conditions.SetProblem(list, nil, in.Cluster.Generation, &p)
}
