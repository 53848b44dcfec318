package backup

import (
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// origin is what a task says of its source and of its room, and tasks of 0.2.0-rc.1 do not.
var origin = regexp.MustCompile(`"origin":{[^}]*},|,"scratch":{[^}]*}`)

// TestAnUpgradeRollsNothing checks that a pod that the last release journaled and this one makes is the same, but for its resources, what
// it may write to and how much, and its task's origin: those of this release are for each pod that is created from now on. A pod that
// exists is never replaced.
func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "EtcdBackup", func(b *databasev1alpha1.EtcdBackup) any { return firstPod(b, Etcd()) })
	releases.Workloads(t, "RedisBackup", func(b *cachev1alpha1.RedisBackup) any { return firstPod(b, Redis()) })
}

// firstPod returns the pod of the first attempt.
func firstPod(b Object, kind Kind) any {
	b.SetUID(types.UID("backup-uid"))
	b.GetBackupStatus().Run = nextAttempt(b, testTime, 1, testTime, "operator:1")
	pod := desiredPod(b, kind, testSource)
	for i := range pod.Spec.Volumes {
		if dir := pod.Spec.Volumes[i].EmptyDir; dir != nil {
			dir.SizeLimit = nil
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			setFormerResources(&containers[i])
			setFormerMounts(&containers[i])
			for n, arg := range containers[i].Command {
				containers[i].Command[n] = origin.ReplaceAllString(arg, "")
			}
		}
	}
	return pod
}

// setFormerResources gives a container those of 0.2.0-rc.1.
func setFormerResources(c *corev1.Container) {
	switch c.Name {
	case backup.CommandInstall:
		c.Resources = corev1.ResourceRequirements{}
	case backup.CommandVerify:
		c.Resources = testSource.resources
	default:
		delete(c.Resources.Limits, corev1.ResourceCPU)
		delete(c.Resources.Requests, corev1.ResourceEphemeralStorage)
	}
}

// setFormerMounts lets a container write to the store, as in 0.2.0-rc.1.
func setFormerMounts(c *corev1.Container) {
	for i, m := range c.VolumeMounts {
		c.VolumeMounts[i].ReadOnly = m.ReadOnly && m.MountPath != backup.StoreDir
	}
}
