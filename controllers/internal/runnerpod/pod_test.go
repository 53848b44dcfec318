package runnerpod

import (
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// What a pod of the runner writes, it writes to its node's disk: no volume there is without a limit.
func TestEachVolumeOnTheNodeIsBounded(t *testing.T) {
	bounded := 0
	for _, volume := range Volumes(commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "kept"}}, backup.Scratch{Limit: 7}) {
		switch {
		case volume.EmptyDir == nil:
		case volume.EmptyDir.SizeLimit == nil:
			t.Errorf("%s has no limit", *volume.Name)
		case *volume.Name == ScratchVolume && volume.EmptyDir.SizeLimit.Value() != 7:
			t.Errorf("%s may have %s", *volume.Name, volume.EmptyDir.SizeLimit)
		default:
			bounded++
		}
	}
	if bounded != 2 {
		t.Errorf("%d volumes are bounded", bounded)
	}
}
