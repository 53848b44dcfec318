package status

import (
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestADatasetEnds(t *testing.T) {
	first := cachev1alpha1.RedisStatus{}
	interrupted := cachev1alpha1.RedisStatus{Epoch: 1, TargetMaster: "a-0"}
	serving := cachev1alpha1.RedisStatus{Epoch: 7, Master: "a-0", Replication: &cachev1alpha1.RedisReplication{Epoch: 7}}
	asleep := cachev1alpha1.RedisStatus{Epoch: 7, Master: "a-0"}
	for _, c := range []struct {
		reason string
		status cachev1alpha1.RedisStatus
		why    string
		unsafe bool
		want   bool
	}{
		{"the first start starts the first data set, and ends none", first, commonv1.ReasonForming, false, false},
		{"a first start whose operator ended in the middle ends no data set", interrupted, commonv1.ReasonForming, false, false},
		{"a new object on the volumes of a former one continues with its data", first, commonv1.ReasonRecovering, false, false},
		{"a set that wakes continues with its data", asleep, commonv1.ReasonRecovering, false, false},
		{"a set that wakes without the volumes that it had has lost all", asleep, commonv1.ReasonForming, false, true},
		{"a set whose servers all ended continues with the newest volume", serving, commonv1.ReasonRecovering, false, false},
		{"a set of which no volume has data has lost all", serving, commonv1.ReasonDatasetLost, false, true},
		{"older volumes are started from only if a human allows it", serving, commonv1.ReasonRecovering, true, true},
		{"also while a set wakes", asleep, commonv1.ReasonRecovering, true, true},
		{"a new object starts from older volumes only if a human allows it", first, commonv1.ReasonRecovering, true, true},
		{"a failover continues with all confirmed writes", serving, commonv1.ReasonMasterLost, false, false},
		{"a failover that a human forced may not", serving, commonv1.ReasonMasterLost, true, true},
		{"a master that is cut off is replaced with all confirmed writes", serving, commonv1.ReasonMasterCutOff, false, false},
		{"a switchover continues with all data", serving, commonv1.ReasonSwitchoverRequested, false, false},
		{"a rollout does, too", serving, commonv1.ReasonMasterOutdated, false, false},
		{"a history that the record does not know is chosen by a human", serving, commonv1.ReasonRecordOutdated, true, true},
		{"a backup that is restored starts a data set", first, commonv1.ReasonRestored, false, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			step := topology.Step{Do: topology.Promote, NodeNames: []string{"a-1"}, Reason: c.why, Unsafe: c.unsafe}
			if got := EndsDataset(&c.status, step); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
