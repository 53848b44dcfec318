package backup

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/runnerpod"
)

// scratchOf bounds the scratch volume of the current attempt: by the limit that its user has given to the pod's containers, or else by
// the size of the data as it was last, or of a first backup by what the source may have.
func scratchOf(b Object, server backup.ServerType, from source) backup.Scratch {
	if limit, given := b.GetBackupOptions().Resources.Limits[corev1.ResourceEphemeralStorage]; given {
		return backup.Scratch{Limit: backup.ScratchOfPod(parts.Bytes(limit)), Fixed: true}
	}
	return backup.Scratch{Limit: backup.ScratchLimit(server, b.GetBackupStatus().Run.RawSize, from.maxSize, verifies(b))}
}

// withScratchRequest returns the resources that the user has given, with a request for the data on a node's disk if they have none.
func withScratchRequest(b Object, server backup.ServerType) corev1.ResourceRequirements {
	return runnerpod.RequestScratch(b.GetBackupOptions().Resources,
		backup.ScratchRequest(server, b.GetBackupStatus().Run.RawSize, verifies(b)))
}
