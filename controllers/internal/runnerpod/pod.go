// Package runnerpod makes pods in which the backup runner works: in the namespace of the object that asks for it, restricted, with
// the store's Secrets mounted as files. It is pure.
package runnerpod

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

const (
	// UID that the runner's pods run as: any will do.
	UID = 65532

	// ScratchVolume is mounted at backup.ScratchDir.
	ScratchVolume = "scratch"

	programVolume = "program"
	storeVolume   = "store"
	storeSecret   = "store-secret"
	storeCA       = "store-ca"
)

// Resources returns what is given, with defaults for the rest. The runner itself stays below 64 MiB; the rest of
// its memory is the file cache's that the kernel counts. It computes checksums, and compresses, in one goroutine: more than one CPU
// would be of little use.
func Resources(given corev1.ResourceRequirements) corev1.ResourceRequirements {
	return parts.FillResources(given, parts.Resources("10m", "32Mi", "1", "96Mi"))
}

// RequestScratch returns what is given, with a request for that many bytes in ScratchDir if it has neither a request nor a limit for them.
// One container of a pod is enough: a scheduler sums the requests, and a LimitRange judges each container by its own.
func RequestScratch(given corev1.ResourceRequirements, bytes int64) corev1.ResourceRequirements {
	return parts.FillResources(given, corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(bytes, resource.BinarySI)}})
}

// Runner returns a container of the operator's image that runs one command of the runner. The resources are those that its user gave.
func Runner(command, image string, task backup.Task, given corev1.ResourceRequirements) *corev1ac.ContainerApplyConfiguration {
	return parts.WithResources(newContainer(command, image), Resources(given)).
		WithCommand(commandLine(backup.Program, command, task)...)
}

// Installer returns the container that puts the runner where a container with another image starts it.
func Installer(image string, given corev1.ResourceRequirements) *corev1ac.ContainerApplyConfiguration {
	return parts.WithResources(newContainer(backup.CommandInstall, image), Resources(given)).
		WithCommand(backup.Program, backup.CommandInstall, backup.ProgramDir).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(programVolume).WithMountPath(backup.ProgramDir))
}

// ServerImageRunner returns a container of a server's image that runs one command of the runner, which an Installer has put there.
func ServerImageRunner(command, image string, task backup.Task,
	resources corev1.ResourceRequirements) *corev1ac.ContainerApplyConfiguration {
	return parts.WithResources(newContainer(command, image), resources).
		WithCommand(commandLine(backup.ProgramDir+backup.Program, command, task)...).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(programVolume).WithMountPath(backup.ProgramDir).WithReadOnly(true))
}

// newContainer returns one that may write into ScratchDir alone.
func newContainer(name, image string) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().WithName(name).WithImage(image).
		WithSecurityContext(parts.RestrictedContainer()).
		WithTerminationMessagePolicy(corev1.TerminationMessageReadFile).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(ScratchVolume).WithMountPath(backup.ScratchDir))
}

func commandLine(program, command string, task backup.Task) []string {
	text, err := json.Marshal(task)
	if err != nil {
		panic(fmt.Sprintf("a task is not valid JSON: %v", err)) // a bug: its types are fixed
	}
	// Kubelet would expand $(NAME).
	return []string{program, command, "--task", strings.ReplaceAll(string(text), "$", `\u0024`)}
}

// WithStore mounts the store, and with it its Secrets, into a container that writes to it.
func WithStore(container *corev1ac.ContainerApplyConfiguration, store commonv1.BackupStore) *corev1ac.ContainerApplyConfiguration {
	return mountStore(container, store, corev1ac.VolumeMount())
}

// WithStoreToRead mounts the store, and with it its Secrets, into a container that only reads it.
func WithStoreToRead(container *corev1ac.ContainerApplyConfiguration, store commonv1.BackupStore) *corev1ac.ContainerApplyConfiguration {
	return mountStore(container, store, corev1ac.VolumeMount().WithReadOnly(true))
}

// mountStore mounts a store that is a volume by that mount, and the Secrets of any other.
func mountStore(container *corev1ac.ContainerApplyConfiguration, store commonv1.BackupStore,
	mount *corev1ac.VolumeMountApplyConfiguration) *corev1ac.ContainerApplyConfiguration {
	if store.Volume != nil {
		return container.WithVolumeMounts(mount.WithName(storeVolume).WithMountPath(backup.StoreDir))
	}
	container.WithVolumeMounts(corev1ac.VolumeMount().WithName(storeSecret).WithMountPath(backup.StoreSecretDir).WithReadOnly(true))
	if store.S3.CASecretName != "" {
		container.WithVolumeMounts(corev1ac.VolumeMount().WithName(storeCA).WithMountPath(backup.StoreCADir).WithReadOnly(true))
	}
	return container
}

// maxProgram bounds the volume that the runner is copied to.
const maxProgram = "256Mi"

// Volumes are those of a pod with containers of this package. They are on the node's disk, and bounded.
func Volumes(store commonv1.BackupStore, scratch backup.Scratch) []*corev1ac.VolumeApplyConfiguration {
	list := []*corev1ac.VolumeApplyConfiguration{
		corev1ac.Volume().WithName(ScratchVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource().
			WithSizeLimit(*resource.NewQuantity(scratch.Limit, resource.BinarySI))),
		corev1ac.Volume().WithName(programVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource().
			WithSizeLimit(resource.MustParse(maxProgram))),
	}
	if v := store.Volume; v != nil {
		return append(list, corev1ac.Volume().WithName(storeVolume).WithPersistentVolumeClaim(
			corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(v.ClaimName)))
	}
	list = append(list, SecretVolume(storeSecret, store.S3.SecretName, []string{"accessKeyID", "secretAccessKey"}, "sessionToken"))
	if store.S3.CASecretName != "" {
		list = append(list, SecretVolume(storeCA, store.S3.CASecretName, []string{"ca.crt"}))
	}
	return list
}

// SecretVolume returns a volume with only these keys of a Secret. The pod waits for the needed ones; the others may be missing.
func SecretVolume(volume, secret string, needed []string, others ...string) *corev1ac.VolumeApplyConfiguration {
	projected := corev1ac.ProjectedVolumeSource().WithDefaultMode(0o440).WithSources(keysOf(secret, needed))
	if len(others) > 0 {
		optional := keysOf(secret, others)
		optional.Secret.WithOptional(true)
		projected.WithSources(optional)
	}
	return corev1ac.Volume().WithName(volume).WithProjected(projected)
}

func keysOf(secret string, keys []string) *corev1ac.VolumeProjectionApplyConfiguration {
	projection := corev1ac.SecretProjection().WithName(secret)
	for _, key := range keys {
		projection.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
	}
	return corev1ac.VolumeProjection().WithSecret(projection)
}
