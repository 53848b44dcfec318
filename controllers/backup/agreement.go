package backup

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// agreement compares what the containers of an attempt that ended well report of the backup. Each of them reads the store, and a user who
// may overwrite objects may have replaced the backup in between: then what a server was started from is not what was written. silent
// is the container that reports no backup; replaced says which one saw another backup than was written. Both are empty if all agree.
func agreement(pod *corev1.Pod) (silent, replaced string) {
	readers := []string{mainContainer}
	if startsServer(pod) {
		readers = []string{backup.CommandFetch, backup.CommandVerify, mainContainer}
	}
	wrote, ok := itemOf(pod, backup.CommandBackup)
	if !ok {
		return backup.CommandBackup, ""
	}
	for _, container := range readers {
		switch saw, ok := itemOf(pod, container); {
		case !ok:
			silent = container
		case saw.Name != wrote.Name || saw.Size != wrote.Size || saw.SHA256 != wrote.SHA256:
			return "", fmt.Sprintf("container %s wrote %d bytes with the SHA-256 %s, and container %s saw %d bytes with the SHA-256 %s",
				backup.CommandBackup, wrote.Size, wrote.SHA256, container, saw.Size, saw.SHA256)
		}
	}
	return silent, ""
}

// itemOf is the backup that a container reported; ok is false if it reported none, or did not end well.
func itemOf(pod *corev1.Pod, container string) (item commonv1.BackupItem, ok bool) {
	result, ok := resultOf(pod, container)
	if !ok || result.Item == nil || result.Error != "" || !endedWell(pod, container) {
		return commonv1.BackupItem{}, false
	}
	return *result.Item, true
}
