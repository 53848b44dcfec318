package children

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/runnerpod"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

const (
	// RestoreAppName is the value of app.kubernetes.io/name on the pod that serves a backup: no Service of the Redis selects it.
	RestoreAppName = "redis-restore"
	// RestoreContainer is the server that reads the backup.
	RestoreContainer = "serve"
)

// RestorePod fetches a backup and serves it. Only the container that fetches has the store's Secrets; only the server has the users
// and certificates of the nodes.
func RestorePod(in Inputs, operatorImage, version string) *corev1.Pod {
	options := in.Redis.Spec.PodOptions
	options.TerminationGracePeriodSeconds = nil // it has nothing to keep
	store, task := in.Spec.Bootstrap.Store, fetchTask(in, version)
	server := parts.Container(RestoreContainer, in.Image, options).
		WithCommand(in.Spec.RestoreCommand()...).
		WithWorkingDir(backup.ScratchDir).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](resources(in, parts.CurrentDefaults))).
		WithSecurityContext(parts.RestrictedContainer()).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName("files").WithMountPath(config.FilesDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(runnerpod.ScratchVolume).WithMountPath(backup.ScratchDir))
	pod := parts.PodSpec(RestoreAppName, in.Redis.Name, options).
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithSecurityContext(parts.RestrictedPod(redisUID)).
		WithInitContainers(runnerpod.WithStoreToRead(
			runnerpod.Runner(backup.CommandFetch, operatorImage, task,
				runnerpod.RequestScratch(corev1.ResourceRequirements{}, backup.ScratchRequest(backup.Redis, in.BackupSize, false))), store)).
		WithContainers(server).
		WithVolumes(runnerpod.Volumes(store, task.Scratch)...).
		WithVolumes(corev1ac.Volume().WithName("files").WithSecret(corev1ac.SecretVolumeSource().
			WithSecretName(in.Spec.FilesName()).WithDefaultMode(0o440).WithItems(keyToPath(config.UsersKey))))
	if in.Spec.TLS {
		addTLSVolumes(in.Spec, pod)
	}
	return parts.ToApplyConfig[corev1.Pod](corev1ac.Pod(in.Spec.RestoreName(), "").
		WithLabels(parts.Merge(options.PodLabels, parts.Labels(RestoreAppName, in.Redis.Name))).
		WithAnnotations(options.PodAnnotations).WithSpec(pod))
}

// fetchTask says which backup is fetched: the one that was fetched before, if there was one.
func fetchTask(in Inputs, version string) backup.Task {
	fetched := ""
	if record := in.Redis.Status.Restore; record != nil {
		fetched = record.Item
	}
	task := backup.FetchTask(backup.Redis, *in.Spec.Bootstrap, in.Spec.Namespace, fetched, version)
	var volume resource.Quantity
	if in.Spec.Storage != nil { // a node keeps the whole dump there
		task.Scratch.Limit, volume = backup.MinScratchLimit, in.Spec.Storage.Size
	}
	task.Scratch.Limit = max(task.Scratch.Limit, backup.MaxRedisSize(volume, in.Redis.Spec.Resources))
	return task
}
