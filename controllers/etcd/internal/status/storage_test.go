package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

func TestStorageConditions(t *testing.T) {
	checkConditions(t, []row{
		{"a volume is to grow", func(s *seen) {
			s.growth = volumes.Growth{Size: resource.MustParse("2Gi"), Undersized: []string{"a-1"}}
		}, map[string]string{
			commonv1.ConditionStorageResizing: "True Resizing the volumes of a-1 are to grow to 2Gi",
			ready:                             "False RollingOut the volumes of a-1", progressing: "True RollingOut the volumes of a-1",
			available: "True Quorum"}},
		{"what else is under way does not hide it", func(s *seen) {
			s.growth = volumes.Growth{Size: resource.MustParse("2Gi"), Undersized: []string{"a-1"}}
			s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2"}
		}, map[string]string{progressing: "True RollingOut the volumes of a-1 are to grow to 2Gi; waiting for a-2"}},
		{"a volume may not grow", func(s *seen) { s.growth.Refusal = "storage.size: no" }, map[string]string{
			commonv1.ConditionStorageResizing: "True RefusedByServer storage.size: no", ready: "False RefusedByServer",
			degraded: "True RefusedByServer storage.size: no"}},
		{"what a human must decide comes first", func(s *seen) {
			s.growth.Refusal = "storage.size: no"
			s.block(commonv1.ReasonUnknownMember)
		}, map[string]string{degraded: "True UnknownMember do this"}},
		{"volumes do not shrink", func(s *seen) {
			s.e.Spec.Storage = &databasev1alpha1.EtcdStorage{Size: resource.MustParse("1Gi")}
			s.set.Spec.VolumeClaimTemplates = claimTemplates("2Gi")
		}, map[string]string{degraded: "True InvalidSpec storage.size: volumes cannot shrink"}},
		{"a quota for which pods have no room on their nodes' disks", func(s *seen) { s.e.Spec.Resources.Limits = diskLimit("256Mi") },
			map[string]string{ready: "False InvalidSpec quota: a pod may have 256 MiB", degraded: "True InvalidSpec quota: a pod may have 256 MiB"}},
		{"a limit that only pods have", func(s *seen) { s.w.Members[1].Pod.DiskSize = 1 << 30 }, map[string]string{
			ready: "True", degraded: "True InvalidSpec quota: a-1 has too little room: a pod may have 1152 MiB"}},
		{"no volume was ever to grow", func(*seen) {}, map[string]string{commonv1.ConditionStorageResizing: ""}},
	})
}

func diskLimit(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(size)}
}
