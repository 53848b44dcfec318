package status

import (
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// EndsDataset reports whether a promotion ends the data set that the status is about, so that another one starts: it starts
// without what there was, or from other data. A failover, a switchover and a start from the newest volumes continue it.
func EndsDataset(status *cachev1alpha1.RedisStatus, s topology.Step) bool {
	switch {
	case s.Unsafe, s.Reason == commonv1.ReasonDatasetLost, s.Reason == commonv1.ReasonRestored:
		return true
	}
	return s.Reason == commonv1.ReasonForming && status.Master != "" // it had a master, and no volume has what that wrote
}
