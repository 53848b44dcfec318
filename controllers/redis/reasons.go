package redis

import (
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// changeMessages say to people why the master changed, by the reason.
var changeMessages = map[string]string{
	commonv1.ReasonForming:             "the Redis had no master yet",
	commonv1.ReasonRestored:            "the Redis started with the backup that spec.bootstrap names",
	commonv1.ReasonMasterLost:          "the master before is lost",
	commonv1.ReasonMasterCutOff:        "the replicas of the master before did not hear it",
	commonv1.ReasonRecovering:          "no server had run since the master before ended, and this volume holds the latest data",
	commonv1.ReasonDatasetLost:         "no volume holds the data any more; the Redis starts over, empty",
	commonv1.ReasonRecordOutdated:      "it was ahead of this object's status, as after a restore of the API server",
	commonv1.ReasonMasterPodDeleted:    "the pod of the master before was deleted by force",
	commonv1.ReasonMasterTerminating:   "the pod of the master before was deleted or evicted",
	commonv1.ReasonMasterOutdated:      "the pod of the master before is to be recreated",
	commonv1.ReasonScaledDown:          "spec.size leaves no place for the master before",
	commonv1.ReasonSwitchoverRequested: "annotation " + cachev1alpha1.RedisSwitchover + " asked for it",
	commonv1.ReasonDiskError:           "the master before could not write to its disk",
}

// reasonsOfV010 are what release 0.1.0 recorded in place of some reasons.
var reasonsOfV010 = map[string]string{
	"its pod was deleted by force": commonv1.ReasonMasterPodDeleted,
	"its pod is going":             commonv1.ReasonMasterTerminating,
	"its pod is outdated":          commonv1.ReasonMasterOutdated,
	"size is smaller now":          commonv1.ReasonScaledDown,
	"asked for by annotation":      commonv1.ReasonSwitchoverRequested,
	"it cannot write to its disk":  commonv1.ReasonDiskError,
}

// replaceFormerReason replaces what release 0.1.0 recorded by the reason that it stands for.
func replaceFormerReason(last *cachev1alpha1.RedisFailover) {
	if last == nil {
		return
	}
	if reason, ok := reasonsOfV010[last.Reason]; ok {
		last.Reason = reason
	}
}
