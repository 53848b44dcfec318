package backup

import "math"

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
	// DefaultScratchLimit is the limit while the size of the data is not known: for an etcd it is enough with the largest quota that etcd
	// suggests, 8 GiB.
	DefaultScratchLimit = 20 << 30
	// RestoreScratchLimit is the limit of a pod that fetches a backup for a restore: how large that is, its manifest says there.
	RestoreScratchLimit = 64 << 30
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
// is 0 where nothing is known of it.
func ScratchLimit(server ServerType, rawSize int64, verify bool) int64 {
	if rawSize <= 0 {
		return DefaultScratchLimit
	}
	return min(max(2*scratchNeed(server, rawSize, verify), 1<<30), maxScratch)
}

// ScratchRequest is what the scheduler looks for on a node, in bytes: a quarter more than the last data would need.
func ScratchRequest(server ServerType, rawSize int64, verify bool) int64 {
	if rawSize <= 0 {
		return MinScratchRequest
	}
	need := scratchNeed(server, rawSize, verify)
	return min(max(need+need/4, MinScratchRequest), ScratchLimit(server, rawSize, verify))
}
