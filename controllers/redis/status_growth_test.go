package redis

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

func TestStorageResizing(t *testing.T) {
	s := fixture.Growing()
	says := func(status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		var list []metav1.Condition
		if status == metav1.ConditionFalse {
			list = []metav1.Condition{{Type: commonv1.ConditionStorageResizing, Status: metav1.ConditionTrue}}
		}
		setStorageResizing(&list, s.Generation, s.Situation())
		c := meta.FindStatusCondition(list, commonv1.ConditionStorageResizing)
		if c == nil || c.Status != status || c.Reason != reason || c.Message != message {
			t.Errorf("got %+v", c)
		}
	}
	says(metav1.ConditionTrue, commonv1.ReasonResizing, "the volumes of a-0, a-1 are to grow to 2Gi")
	fixture.Claims(s, "a-0", "2Gi", "2Gi")
	fixture.Claims(s, "a-1", "2Gi", "1Gi").Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, Message: "waiting for the node"}}
	says(metav1.ConditionTrue, commonv1.ReasonResizing, "the volumes of a-1 are to grow to 2Gi (data-a-1: waiting for the node)")
	s.GrowthRefusal = "storage.size: no"
	says(metav1.ConditionTrue, commonv1.ReasonRefusedByServer, "storage.size: no")
	s.GrowthRefusal = ""
	fixture.Claims(s, "a-1", "2Gi", "2Gi")
	says(metav1.ConditionFalse, commonv1.ReasonResized, "every volume is as large as storage.size asks for")

	var none []metav1.Condition
	if setStorageResizing(&none, s.Generation, s.Situation()); len(none) > 0 {
		t.Errorf("it was never to grow: %v", none)
	}
}

// What the volumes have is what the StatefulSet was made for: growth that was refused
// never came so far, and can be taken back.
func TestVolumesDoNotShrink(t *testing.T) {
	for _, c := range []struct{ asked, made, says string }{
		{"2Gi", "1Gi", ""},
		{"1Gi", "1Gi", ""},
		{"1024Mi", "1Gi", ""},
		{"1Gi", "2Gi", "storage.size: volumes cannot shrink, and stay as they are: set it to 2Gi or more"},
	} {
		s := fixture.Growing()
		s.Spec.Storage.Size = resource.MustParse(c.asked)
		for name := range s.Volumes {
			fixture.Claims(s, name, c.made, c.made)
		}
		set := &appsv1.StatefulSet{}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
		set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = fixture.StorageOf(c.made)
		var list []metav1.Condition
		refuseShrinking(&list, s.Generation, config.Resolve(s.Redis), set)
		degraded := meta.FindStatusCondition(list, commonv1.ConditionDegraded)
		if said := degraded != nil && degraded.Status == metav1.ConditionTrue; said != (c.says != "") || said && degraded.Message != c.says {
			t.Errorf("%s of %s: %v", c.asked, c.made, list)
		}
		if c.says != "" && (len(s.Situation().VolumeGrowth().ToRequest) > 0 || s.Situation().HaveOutgrown(resource.MustParse(c.made))) {
			t.Errorf("%s of %s: something would be done", c.asked, c.made)
		}
	}
}
