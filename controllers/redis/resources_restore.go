package redis

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/runnerpod"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

const (
	// restoreAppName is the value of app.kubernetes.io/name on the pod that serves a backup: no Service of the set selects it.
	restoreAppName = "redis-restore"
	// restoreContainer is the server that reads the backup.
	restoreContainer = "serve"
)

// restorePod fetches a backup and serves it. Only the container that fetches has the store's Secrets; only the server has the users
// and certificates of the nodes.
func restorePod(r *cachev1alpha1.Redis, spec config.Spec, image, operatorImage, version string) *corev1.Pod {
	options := r.Spec.PodOptions
	options.TerminationGracePeriodSeconds = nil // it has nothing to keep
	store := spec.Bootstrap.Store
	server := parts.Container(restoreContainer, image, options).
		WithCommand(spec.RestoreCommand()...).
		WithWorkingDir(backup.ScratchDir).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](resources(r, parts.CurrentDefaults))).
		WithSecurityContext(parts.RestrictedContainer()).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName("files").WithMountPath(config.FilesDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(runnerpod.ScratchVolume).WithMountPath(backup.ScratchDir))
	pod := parts.PodSpec(restoreAppName, r.Name, options).
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithSecurityContext(parts.RestrictedPod(redisUID)).
		WithInitContainers(runnerpod.WithStore(runnerpod.Runner(backup.CommandFetch, operatorImage, fetchTask(r, spec, version), corev1.ResourceRequirements{}), store)).
		WithContainers(server).
		WithVolumes(runnerpod.Volumes(store)...).
		WithVolumes(corev1ac.Volume().WithName("files").WithSecret(corev1ac.SecretVolumeSource().
			WithSecretName(spec.FilesName()).WithDefaultMode(0o440).WithItems(keyToPath(config.UsersKey))))
	if spec.TLS {
		addTLSVolumes(spec, pod)
	}
	return parts.ToApplyConfig[corev1.Pod](corev1ac.Pod(spec.RestoreName(), "").
		WithLabels(parts.Merge(options.PodLabels, parts.Labels(restoreAppName, r.Name))).
		WithAnnotations(options.PodAnnotations).WithSpec(pod))
}

// fetchTask says which backup is fetched: the one that was fetched before, if there was one.
func fetchTask(r *cachev1alpha1.Redis, spec config.Spec, version string) backup.Task {
	fetched := ""
	if record := r.Status.Restore; record != nil {
		fetched = record.Item
	}
	return backup.FetchTask(backup.Redis, *spec.Bootstrap, spec.Namespace, fetched, version)
}
