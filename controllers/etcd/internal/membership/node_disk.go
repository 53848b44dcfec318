package membership

import (
	"fmt"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Without storage a member's data is on its node's disk, in a pod whose limit of ephemeral storage the kubelet enforces: it evicts a pod
// that has more there. All members have the same data, so they would be evicted together, and the data would be lost.
const (
	// MinQuota is the least quota that the API allows, in bytes.
	MinQuota = 16 << 20
	// DiskSnapshotCount is after how many entries such a member takes a snapshot: its log keeps all entries since the last one. etcd's own
	// value is 10,000, and 100,000 of 3.5, which is a log of 1 GB with entries of 10 KB.
	DiskSnapshotCount = 1000
	// otherSpace is for the launcher and for what the container prints, of which a kubelet keeps five files of 10 MiB
	// (https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/), in bytes.
	otherSpace = 128 << 20
)

// SpaceForData is how much of a pod's limit of ephemeral storage is for etcd's data and logs, in bytes; 0 only if there is no limit.
func SpaceForData(limit int64) int64 {
	if limit == 0 {
		return 0
	}
	return max(1, limit-otherSpace)
}

// QuotaOnDisk is the largest quota for which there is room on that disk of a pod, next to etcd's logs, in bytes; 0 if there is none for
// the least quota.
func QuotaOnDisk(disk int64) int64 {
	if room := disk - fullLogs; room >= MinQuota {
		return room
	}
	return 0
}

// PodLimitFor is the least limit of ephemeral storage of a pod that has room for that quota, in bytes.
func PodLimitFor(quota int64) int64 { return quota + fullLogs + otherSpace }

// ExplainDisk says why a limit of ephemeral storage has no room for a quota, and what to do. Sizes are in bytes.
func ExplainDisk(quota, disk int64) string {
	lower := ""
	if most := QuotaOnDisk(disk); most > 0 {
		lower = fmt.Sprintf(", or quota to %dMi or less", most>>20)
	}
	return fmt.Sprintf("a pod may have %d MiB on its node's disk, and a quota of %d MiB, etcd's logs and the rest need %d MiB: the kubelet "+
		"would evict all members, and their data would be lost: set resources.limits.ephemeral-storage to %dMi or more%s",
		(disk+otherSpace)>>20, quota>>20, inMiB(PodLimitFor(quota)), inMiB(PodLimitFor(quota)), lower)
}

// inMiB rounds up.
func inMiB(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// diskField is the field of the spec that says how much a member may have on its disk.
func (s Situation) diskField() string {
	if s.HasStorage {
		return "storage.size"
	}
	return "resources.limits.ephemeral-storage"
}

// blockOnNextQuota ends the plan before a pod is replaced by one whose quota has no room on its disk, or is below the data.
func (s Situation) blockOnNextQuota() (Step, bool) {
	if s.QuotaError != "" {
		return Step{Do: Block, Reason: commonv1.ReasonInvalidSpec, Message: s.QuotaError + "; until then no pod is replaced"}, true
	}
	why := s.overNextQuota()
	return Step{Do: Block, Reason: commonv1.ReasonRestartBlocked, Message: why}, why != ""
}

// overNextQuota explains the first member that has more data than the quota of the next pods allows; empty if there is none. The first of
// these pods would have etcd refuse all writes.
func (s Situation) overNextQuota() string {
	for _, m := range s.Members {
		if m.Record == nil || s.quotaOf(m) <= s.Quota || m.View.DBUsed <= roomBelow(s.Quota) {
			continue
		}
		return fmt.Sprintf("quota: %s has %d MiB of data, old revisions included, and the next pods would have a quota of %d MiB, so that etcd "+
			"would refuse all writes: set quota to %dMi or more, or delete keys and compact; until then no pod is replaced",
			m.Name, m.View.DBUsed>>20, s.Quota>>20, inMiB(m.View.DBUsed/quotaMargin*100+maxRequest))
	}
	return ""
}

// WithoutRoom explains the first member without storage whose pod may have too little on its node's disk for the quota that it runs with;
// empty if there is none. The limit may be that of a LimitRange, which only a pod shows. A pod that is to be replaced is not looked at.
func (s Situation) WithoutRoom() string {
	for _, m := range s.Members {
		quota, disk := s.quotaOf(m), m.Pod.DiskSize
		if s.HasStorage || m.Record == nil || disk == 0 || m.Pod.Outdated || quota <= QuotaOnDisk(disk) {
			continue
		}
		if s.Quota <= QuotaOnDisk(disk) { // an earlier release of the operator chose it
			return fmt.Sprintf("quota: %s runs with %d MiB, for which a pod has no room on its node's disk: the kubelet would evict all "+
				"members, and their data would be lost. Restart the pods (kubectl rollout restart statefulset %s): the next ones have a "+
				"quota of %d MiB. If more data is stored, set quota first", m.Name, quota>>20, s.Name, s.Quota>>20)
		}
		return fmt.Sprintf("quota: %s has too little room: %s", m.Name, ExplainDisk(quota, disk))
	}
	return ""
}
