package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// What is decided of the volumes is reported, and a size that is refused changes nothing.
func TestVolumesInTheStatus(t *testing.T) {
	for _, c := range []struct{ name, asked, refusal, condition, says string }{
		{"they grow", "2Gi", "", commonv1.ConditionStorageResizing, "the volumes of a-0, a-1 are to grow to 2Gi"},
		{"they may not grow", "2Gi", "storage.size: no", commonv1.ConditionStorageResizing, "storage.size: no"},
		{"they cannot shrink", "512Mi", "", commonv1.ConditionDegraded,
			"storage.size: volumes cannot shrink, and stay as they are: set it to 1Gi or more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fixture.Growing()
			s.Spec.Storage.Size = resource.MustParse(c.asked)
			s.GrowthRefusal = c.refusal
			set := &appsv1.StatefulSet{}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
			set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = fixture.StorageOf("1Gi")
			list := New(s.Redis, Inputs{Situation: s.Situation(), Next: topology.Step{Do: topology.Idle}, Set: set}).Conditions
			if got := meta.FindStatusCondition(list, c.condition); got == nil || got.Message != c.says {
				t.Errorf("got %+v", got)
			}
			if shrinks := c.condition == commonv1.ConditionDegraded; shrinks &&
				(len(s.Situation().VolumeGrowth().ToRequest) > 0 || s.Situation().HaveOutgrown(resource.MustParse("1Gi"))) {
				t.Error("something would be done")
			}
		})
	}
}
