package activity

import (
	"cmp"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
)

const (
	// tmpPath is writable for a command whose root file system is not.
	tmpPath = "/tmp"
	// defaultWorkspacePath is where a workspace that names no path is mounted.
	defaultWorkspacePath = "/workspace"
)

// workspacePath returns where the workspace is mounted, or "" when there is none.
func workspacePath(a *egov1.Activity) string {
	if w := a.Spec.Workspace; w.ClaimName != "" || w.Size != nil {
		return cmp.Or(w.Path, defaultWorkspacePath)
	}
	return ""
}

// needsTmp reports whether nothing else makes /tmp writable.
func needsTmp(a *egov1.Activity) bool { return restricted(a) && workspacePath(a) != tmpPath }

func volumes(a *egov1.Activity) []*corev1ac.VolumeApplyConfiguration {
	all := []*corev1ac.VolumeApplyConfiguration{emptyDirVolume("guard")}
	if needsTmp(a) {
		all = append(all, emptyDirVolume("tmp"))
	}
	if workspacePath(a) == "" {
		return all
	}
	workspaceVolume := corev1ac.Volume().WithName("workspace")
	if w := a.Spec.Workspace; w.ClaimName != "" {
		workspaceVolume.WithPersistentVolumeClaim(corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(w.ClaimName))
	} else {
		workspaceVolume.WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(*w.Size))
	}
	return append(all, workspaceVolume)
}

func volumeMounts(a *egov1.Activity) []*corev1ac.VolumeMountApplyConfiguration {
	all := []*corev1ac.VolumeMountApplyConfiguration{mount("guard", guard.Dir)}
	if needsTmp(a) {
		all = append(all, mount("tmp", tmpPath))
	}
	if path := workspacePath(a); path != "" {
		all = append(all, mount("workspace", path))
	}
	return all
}

func emptyDirVolume(name string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).WithEmptyDir(corev1ac.EmptyDirVolumeSource())
}

func mount(name, path string) *corev1ac.VolumeMountApplyConfiguration {
	return corev1ac.VolumeMount().WithName(name).WithMountPath(path)
}
