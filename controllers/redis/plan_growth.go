package redis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// growth is how far the nodes' volumes are from storage.size.
type growth struct {
	toRequest  []string // nodes whose claims ask for less
	undersized []string // nodes whose volumes are smaller, whatever their claims ask for
	message    string   // what the storage says of one of them
}

// volumeGrowth looks at the volumes of the nodes that there must be. It leaves out one that is not bound, which
// cannot grow yet.
func volumeGrowth(r *cachev1alpha1.Redis, w world) growth {
	var g growth
	for _, name := range slices.Sorted(maps.Keys(w.volumes)) {
		claim := w.volumes[name].claim
		if ordinal(name) >= max(size(r), desiredPods(r, w)) || claim == nil || claim.Status.Phase != corev1.ClaimBound {
			continue
		}
		if asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]; asked.Cmp(r.Spec.Storage.Size) < 0 {
			g.toRequest = append(g.toRequest, name)
		}
		if has := claim.Status.Capacity[corev1.ResourceStorage]; has.Cmp(r.Spec.Storage.Size) < 0 {
			g.undersized = append(g.undersized, name)
			g.message = growthMessage(claim, g.message)
		}
	}
	return g
}

// growthMessage is what the storage says of a claim that grows, else what it said before.
func growthMessage(claim *corev1.PersistentVolumeClaim, before string) string {
	for _, c := range claim.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			return fmt.Sprintf(" (%s: %s)", claim.Name, c.Message)
		}
	}
	return before
}

// mustRemakeSet reports whether to make a StatefulSet anew because its new nodes would get smaller volumes. That
// waits until every claim asks for the new size and no pod is outdated: the pods then fit the new one just as
// well.
func mustRemakeSet(r *cachev1alpha1.Redis, w world, set *appsv1.StatefulSet) bool {
	if isHibernated(r) || r.Spec.Storage == nil || len(set.Spec.VolumeClaimTemplates) == 0 || !set.DeletionTimestamp.IsZero() {
		return false
	}
	made := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
	return made.Cmp(r.Spec.Storage.Size) < 0 && len(volumeGrowth(r, w).toRequest) == 0 &&
		w.count(func(m member) bool { return m.outdated || m.deleting }) == 0
}

// refuseShrinking says that the spec asks for less than the StatefulSet's volumes have: only
// growth that was refused can be taken back.
func refuseShrinking(list *[]metav1.Condition, r *cachev1alpha1.Redis, set *appsv1.StatefulSet) {
	if r.Spec.Storage == nil || len(set.Spec.VolumeClaimTemplates) == 0 {
		return
	}
	made := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
	if made.Cmp(r.Spec.Storage.Size) > 0 {
		why := fmt.Sprintf("storage.size: volumes cannot shrink, and stay as they are: set it to %s or more", made.String())
		conditions.SetProblem(list, nil, r.Generation, &conditions.Problem{Reason: commonv1.ReasonInvalidSpec, Message: why, NeedsHuman: true})
	}
}

// setStorageResizing says how far the volumes have grown, if they were ever to grow.
func setStorageResizing(list *[]metav1.Condition, r *cachev1alpha1.Redis, w world) {
	const conditionType = commonv1.ConditionStorageResizing
	g := volumeGrowth(r, w)
	switch {
	case w.growthRefusal != "":
		conditions.Set(list, r.Generation, conditionType, true, commonv1.ReasonRefusedByServer, w.growthRefusal)
		conditions.Set(list, r.Generation, commonv1.ConditionDegraded, true, commonv1.ReasonRefusedByServer, w.growthRefusal)
		conditions.Set(list, r.Generation, commonv1.ConditionReady, false, commonv1.ReasonRefusedByServer, w.growthRefusal)
	case len(g.undersized) > 0:
		message := fmt.Sprintf("the volumes of %s are to grow to %s%s", strings.Join(g.undersized, ", "), r.Spec.Storage.Size.String(), g.message)
		conditions.Set(list, r.Generation, conditionType, true, commonv1.ReasonResizing, message)
		conditions.Set(list, r.Generation, commonv1.ConditionProgressing, true, commonv1.ReasonRollingOut, message)
		conditions.Set(list, r.Generation, commonv1.ConditionReady, false, commonv1.ReasonRollingOut, message)
	case meta.FindStatusCondition(*list, conditionType) != nil:
		conditions.Set(list, r.Generation, conditionType, false, commonv1.ReasonResized, "every volume is as large as storage.size asks for")
	}
}
