package backup

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/runnerpod"
)

const (
	// mainContainer is the last one to run.
	mainContainer = backup.CommandFinish
	// sourceVolume has what a reader of the source needs.
	sourceVolume = "source"
	// maxRunTime ends a pod that hangs. The runner itself ends when a store or a server makes no progress; a server that is
	// started from a backup may load for hours.
	maxRunTime = 24 * time.Hour
)

// podName returns the name of an attempt's pod. The last 8 digits of the item's name differ with the attempt and the object's UID.
func podName(b Object, item string) string { return b.GetName() + "-" + item[len(item)-8:] }

// nextAttempt returns an attempt at the backup that was due then; attempts count from 1. It deletes what earlier ones may have left.
func nextAttempt(b Object, due time.Time, attempt int32, now time.Time, image string) *commonv1.BackupRun {
	item := backup.ItemName(now, string(b.GetUID()), due, attempt)
	rawSize := int64(0)
	if last := b.GetBackupStatus().Run; last != nil {
		rawSize = last.RawSize
	}
	return &commonv1.BackupRun{RawSize: rawSize,
		ScheduledTime: *timeAt(due), Attempt: attempt, Item: item, Leftovers: leftoverItems(b.GetBackupStatus().Run), PodName: podName(b, item),
		Image: image, StartTime: *timeAt(now), Phase: commonv1.BackupRunning,
	}
}

// maxLeftovers is how many names of earlier attempts are kept: that is their bound in api/common/v1.
const maxLeftovers = 32

// leftoverItems are the names under which the attempts up to that one may have left something to delete.
func leftoverItems(last *commonv1.BackupRun) []string {
	switch {
	case last == nil:
		return nil
	case last.Phase == commonv1.BackupSucceeded: // what it could not delete is still there
		return last.Leftovers
	}
	list := append(append([]string{}, last.Leftovers...), last.Item)
	return list[max(0, len(list)-maxLeftovers):]
}

// newTask returns the task of the runner in the current attempt.
func newTask(b Object, server backup.ServerType, from source) backup.Task {
	o, run := b.GetBackupOptions(), b.GetBackupStatus().Run
	return backup.Task{
		Kind: server, Store: o.Store, Folder: backup.Folder(b.GetNamespace(), b.GetName()), Item: run.Item, Time: run.StartTime.UTC(),
		Leftovers: run.Leftovers, Verify: verifies(b), Compression: o.Compression, Retention: o.Retention,
		Allowed: allowedItem(b), Scratch: scratchOf(b, server, from),
		Source: &backup.Source{UID: string(from.uid), Origin: originOf(b, from), ClusterID: from.clusterID, ReplicationID: from.replicationID,
			Dataset: from.dataset, Size: from.size,
			Endpoints: from.endpoints, TLS: from.tls, ServerName: from.serverName},
	}
}

// originOf is what a manifest says of the source.
func originOf(b Object, from source) backup.Origin {
	return backup.Origin{UID: string(from.uid), Cluster: from.cluster, Kind: from.kind, Namespace: b.GetNamespace(), Name: b.GetSourceName()}
}

// allowedItem is the backup up to which a human has accepted what became of the data; empty if none is named.
func allowedItem(b Object) string {
	item := b.GetAnnotations()[commonv1.AllowRetention]
	if _, err := backup.ItemTime(item); err != nil {
		return ""
	}
	return item
}

// desiredPod returns the pod of the current attempt, as it is created: gated.
func desiredPod(b Object, kind Kind, from source) *corev1.Pod {
	o, run := b.GetBackupOptions(), b.GetBackupStatus().Run
	task := newTask(b, kind.server, from)
	spec := parts.PodSpec(kind.appName, b.GetName(), commonv1.PodOptions{ImagePullSecrets: o.ImagePullSecrets, Scheduling: o.Scheduling}).
		WithSchedulingGates(corev1ac.PodSchedulingGate().WithName(once.Gate)).
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithActiveDeadlineSeconds(int64(maxRunTime / time.Second)).
		WithSecurityContext(parts.RestrictedPod(runnerpod.UID)).
		WithVolumes(runnerpod.Volumes(o.Store, task.Scratch)...)
	addContainers(spec, task, run.Image, from, o.Resources, withScratchRequest(b, kind.server))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: run.PodName, Namespace: b.GetNamespace(), Labels: parts.Labels(kind.appName, b.GetName()),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b, kind.gvk)},
		},
		Spec: *parts.ToApplyConfig[corev1.PodSpec](spec),
	}
}

// addContainers adds them in the order in which they run. Each has no more of the task, and of the Secrets, than it needs. The last one
// alone has the request for the scratch volume, which all share.
func addContainers(spec *corev1ac.PodSpecApplyConfiguration, task backup.Task, image string, from source,
	given, withScratch corev1.ResourceRequirements) {
	read := runnerpod.WithStore(runnerpod.Runner(backup.CommandBackup, image, task, given), task.Store)
	if len(from.secrets) > 0 {
		read.WithVolumeMounts(corev1ac.VolumeMount().WithName(sourceVolume).WithMountPath(backup.SourceDir).WithReadOnly(true))
		spec.WithVolumes(secretsVolume(from.secrets))
	}
	later := task
	later.Source, later.Leftovers = nil, nil
	if task.Verify {
		fetch := runnerpod.WithStoreToRead(runnerpod.Runner(backup.CommandFetch, image, later, given), task.Store)
		spec.WithInitContainers(runnerpod.Installer(image, given), read, fetch,
			runnerpod.ServerImageRunner(backup.CommandVerify, from.image, later, verifyResources(from, given)))
	} else {
		spec.WithInitContainers(read)
	}
	spec.WithContainers(runnerpod.WithStore(runnerpod.Runner(mainContainer, image, later, withScratch), task.Store))
}

// verifyResources are those of the servers that are backed up, and where these have none, those of the backup; last, what an empty
// server needs. What the servers may have on a node's disk says nothing about a backup: the kubelet would evict the pod by it.
func verifyResources(from source, given corev1.ResourceRequirements) corev1.ResourceRequirements {
	theirs := *from.resources.DeepCopy()
	delete(theirs.Requests, corev1.ResourceEphemeralStorage)
	delete(theirs.Limits, corev1.ResourceEphemeralStorage)
	return parts.FillResources(parts.FillResources(theirs, given), parts.Resources("10m", "64Mi", "", ""))
}

// secretsVolume has the keys of all these Secrets.
func secretsVolume(secrets []secretKeys) *corev1ac.VolumeApplyConfiguration {
	volume := runnerpod.SecretVolume(sourceVolume, secrets[0].secret, secrets[0].keys)
	for _, s := range secrets[1:] {
		volume.Projected.Sources = append(volume.Projected.Sources, runnerpod.SecretVolume(sourceVolume, s.secret, s.keys).Projected.Sources...)
	}
	return volume
}
