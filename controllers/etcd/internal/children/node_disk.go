package children

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// KeepRoom returns inputs with the resources and the quota of the pods so far, while the spec has no room for its quota: a pod that is
// recreated meanwhile, as after a drain, takes the data of the others.
func KeepRoom(in Inputs, set *appsv1.StatefulSet) Inputs {
	containers := set.Spec.Template.Spec.Containers
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == config.AppName })
	if in.Spec.QuotaError == "" || i < 0 {
		return in
	}
	in.Cluster = in.Cluster.DeepCopy()
	in.Cluster.Spec.Resources = containers[i].Resources
	in.Cluster.Spec.Quota = resource.NewQuantity(in.Spec.Quota, resource.BinarySI)
	return in
}

// quotaOfPods is the quota in the pod template. Pods without storage that an earlier release has made keep theirs.
func quotaOfPods(in Inputs) int64 {
	if in.Cluster.Spec.Storage == nil && in.Defaults == parts.FormerDefaults {
		return config.QuotaWithoutStorage(&in.Cluster.Spec)
	}
	return in.Spec.Quota
}

// unpurgedLogs is for the log of a member without storage while writes come faster than etcd drops segments, which it does every 30 s
// (purgeFileInterval in etcd's server/etcdserver/server.go), in bytes.
const unpurgedLogs = 4 << 30

// dataOnNode is the volume of a member without storage. Its limit protects the node from a log that grows for ever, and is far above what
// etcd writes: the data twice, as for a defragmentation, and logs. A pod that reaches it is evicted, and its data is lost.
func dataOnNode(in Inputs) *corev1ac.VolumeApplyConfiguration {
	dir := corev1ac.EmptyDirVolumeSource()
	if in.Defaults != parts.FormerDefaults {
		dir.WithSizeLimit(*resource.NewQuantity(2*in.Spec.Quota+unpurgedLogs, resource.BinarySI))
	}
	return corev1ac.Volume().WithName(config.DataVolume).WithEmptyDir(dir)
}

// snapshotArguments set after how many entries etcd takes a snapshot, so that its log can drop what is older.
func snapshotArguments(in Inputs) []string {
	initial, _ := membership.ParseVersion(in.InitialVersion)
	switch {
	case in.Version.Minor == 6 && initial.Minor < 6:
		return []string{fmt.Sprintf("--snapshot-count=%d", membership.SnapshotCount)}
	case in.Cluster.Spec.Storage == nil && in.Defaults != parts.FormerDefaults:
		return []string{fmt.Sprintf("--snapshot-count=%d", membership.DiskSnapshotCount)}
	}
	return nil
}

// DiskOfPod is how much of a node's disk a pod may use for the data of a member without storage, in bytes; 0 if it has no limit. The
// kubelet sums the limits of the containers, and takes that of an init container where it is larger (PodLimits in
// k8s.io/component-helpers/resource).
func DiskOfPod(pod *corev1.Pod) int64 {
	var limit int64
	for i := range pod.Spec.Containers {
		limit = min(limit+diskLimit(&pod.Spec.Containers[i]), maxDisk)
	}
	for i := range pod.Spec.InitContainers {
		limit = max(limit, diskLimit(&pod.Spec.InitContainers[i]))
	}
	return membership.SpaceForData(limit)
}

// maxDisk bounds limits, in bytes, so that sums of them do not overflow.
const maxDisk = 1 << 60

// diskLimit is a container's, in bytes; 0 if it has none.
func diskLimit(c *corev1.Container) int64 {
	limit, limited := c.Resources.Limits[corev1.ResourceEphemeralStorage]
	if !limited {
		return 0
	}
	return min(max(1, parts.Bytes(limit)), maxDisk)
}
