package backup

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// Scratch bounds what a runner's pod has on its node's disk, in ScratchDir.
type Scratch struct {
	// Limit in bytes: the kubelet evicts a pod that has more there. 0 means that there is none, as in pods of earlier releases.
	Limit int64 `json:"limit,omitempty"`
	// Fixed says that its user has chosen the limit, so that the next attempt has the same.
	Fixed bool `json:"fixed,omitempty"`
}

const (
	// etcdLogRoom is what etcd writes in addition to the data, in bytes: two parts of its log, which it reserves before it writes
	// (wal.SegmentSizeBytes, 64 MB), and the rest.
	etcdLogRoom = 2*64_000_000 + 1<<20
	// scratchRest is for manifests, sockets and directories, in bytes.
	scratchRest = 16 << 20
	// DefaultScratchLimit is the limit while the size of the data is not known, unless the source may have more: for an etcd it is enough
	// with the largest quota that etcd suggests, 8 GiB.
	DefaultScratchLimit = 20 << 30
	// RestoreScratchLimit is the limit of a pod that fetches a backup for a server that has no storage: how large the backup is, its
	// manifest says there.
	RestoreScratchLimit = 64 << 30
	// MinScratchLimit is the least limit, whatever the data had last.
	MinScratchLimit = 1 << 30
	// MinScratchRequest is requested of the node at least.
	MinScratchRequest = 128 << 20
	// maxScratch bounds the limit, whatever an earlier attempt reports.
	maxScratch = 1 << 40
	// maxRawSize bounds sizes of data, in bytes, so that sums of them do not overflow: a manifest may have any.
	maxRawSize = math.MaxInt64 / 8
	// besidesScratch is what a pod has on its node's disk outside of the scratch volume, in bytes: the runner's program, and logs.
	besidesScratch = 128 << 20
)

// ScratchOfPod is how much of a pod's limit of ephemeral storage is for ScratchDir, in bytes: all but what is for the runner's program
// and logs, which is half of a small limit.
func ScratchOfPod(podLimit int64) int64 { return max(1, podLimit-min(besidesScratch, podLimit/2)) }

// PodLimitFor is the least limit of ephemeral storage of a pod of which ScratchOfPod is that many bytes.
func PodLimitFor(scratch int64) int64 { return scratch + min(besidesScratch, scratch) }

// MaxRedisSize is how large the dump of a Redis may be, in bytes: as large as the volume of a node, or without volumes, which have the
// size 0 then, as its memory. It is 0 if neither is bounded.
func MaxRedisSize(volume resource.Quantity, memory corev1.ResourceRequirements) int64 {
	if !volume.IsZero() {
		return parts.Bytes(volume)
	}
	return parts.Bytes(memory.Limits[corev1.ResourceMemory])
}

// VerifyRoom is what a server that is started from data of that size writes next to it, in bytes. A Redis only reads its dump.
func VerifyRoom(server ServerType, rawSize int64) int64 {
	if server == Etcd {
		return min(rawSize, maxRawSize) + etcdLogRoom
	}
	return 0
}

// scratchNeed is what a pod has in ScratchDir at most when it makes a backup of that size. Without verification it only has the data.
func scratchNeed(server ServerType, rawSize int64, verify bool) int64 {
	rawSize = min(rawSize, maxRawSize)
	if verify {
		return rawSize + VerifyRoom(server, rawSize) + scratchRest
	}
	return rawSize + scratchRest
}

// ScratchLimit bounds what a pod may have in ScratchDir, in bytes: twice what the last data would need, so that data may grow. rawSize
// is 0 where nothing is known of it: then maxSize counts, which is how large the source allows its data to be; 0 if it sets no bound.
func ScratchLimit(server ServerType, rawSize, maxSize int64, verify bool) int64 {
	if rawSize <= 0 {
		return min(max(scratchNeed(server, maxSize, verify), DefaultScratchLimit), maxScratch)
	}
	return min(max(2*scratchNeed(server, rawSize, verify), MinScratchLimit), maxScratch)
}

// ScratchRequest is what the scheduler looks for on a node, in bytes: what the last data would need. A node that has just that is enough.
func ScratchRequest(server ServerType, rawSize int64, verify bool) int64 {
	if rawSize <= 0 {
		return MinScratchRequest
	}
	return min(max(scratchNeed(server, rawSize, verify), MinScratchRequest), maxScratch)
}
