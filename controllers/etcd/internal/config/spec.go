package config

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// Resolve returns the spec with every default. Volumes are as large as that StatefulSet makes them.
func Resolve(cluster *databasev1alpha1.EtcdCluster, set *appsv1.StatefulSet, defaultImages []string) membership.Spec {
	given := &cluster.Spec
	spec := membership.Spec{Name: cluster.Name, Namespace: cluster.Namespace, Size: ptr.Deref(given.Size, 3), HasStorage: given.Storage != nil,
		Image: given.Image, DefaultImages: defaultImages, RequiresLogin: given.Auth != nil, FromBackup: given.Bootstrap != nil, TLS: given.TLS,
		AllowedRecovery: cluster.Annotations[databasev1alpha1.EtcdAllowUnsafeRecovery]}
	if given.Storage != nil {
		spec.VolumeSize = volumes.SizeOfNew(set, given.Storage.Size)
	}
	spec.QuotaError, spec.NodeDisk = quotaError(given), nodeDisk(given)
	spec.Quota = quotaToRun(quota(given, spec.VolumeSize), spec.QuotaError, set)
	if given.Defrag != nil {
		spec.DefragThreshold = given.Defrag.Threshold
	}
	running, _ := membership.ParseVersion(cluster.Status.TargetVersion) // a new cluster has none
	var err error
	if spec.Wanted, err = membership.ResolveVersion(given.Version, running); err != nil {
		spec.WantedError = err.Error()
	}
	return spec
}

// maxDefaultQuota is the largest default of quota, in bytes. It is etcd's own default.
const maxDefaultQuota = 2 << 30

// quota leaves room on a volume of that size, or on the node's disk where that is bounded, for a defragmentation, which writes all data
// again before it drops the old. One that was asked for together with a larger volume waits for it.
func quota(given *databasev1alpha1.EtcdClusterSpec, volume resource.Quantity) int64 {
	switch asked := given.Quota; {
	case given.Storage == nil:
		return quotaOnNode(given)
	case asked != nil:
		return min(parts.Bytes(*asked), parts.Bytes(volume))
	}
	return min(maxDefaultQuota, parts.Bytes(volume)/2)
}

// quotaOnNode is the quota of a member without storage.
func quotaOnNode(given *databasev1alpha1.EtcdClusterSpec) int64 {
	disk := nodeDisk(given)
	if disk == 0 {
		return QuotaWithoutStorage(given)
	}
	most := max(membership.MinQuota, membership.QuotaOnDisk(disk))
	if asked := given.Quota; asked != nil {
		return min(parts.Bytes(*asked), most)
	}
	return max(membership.MinQuota, min(maxDefaultQuota, most/2))
}

// QuotaWithoutStorage is the quota of a member without storage whose disk has no limit. Pods of parts.FormerDefaults have it in any case.
func QuotaWithoutStorage(given *databasev1alpha1.EtcdClusterSpec) int64 {
	if given.Quota != nil {
		return parts.Bytes(*given.Quota)
	}
	return maxDefaultQuota
}

// nodeDisk is how much a member without storage may have on its node's disk by the spec, in bytes; 0 for no limit.
func nodeDisk(given *databasev1alpha1.EtcdClusterSpec) int64 {
	limit, limited := given.Resources.Limits[corev1.ResourceEphemeralStorage]
	if given.Storage != nil || !limited {
		return 0
	}
	return membership.SpaceForData(max(1, parts.Bytes(limit)))
}

// quotaError says why pods have no room for the quota; empty if they do.
func quotaError(given *databasev1alpha1.EtcdClusterSpec) string {
	disk, asked := nodeDisk(given), int64(membership.MinQuota)
	if given.Quota != nil {
		asked = parts.Bytes(*given.Quota)
	}
	if disk == 0 || asked <= membership.QuotaOnDisk(disk) {
		return ""
	}
	return "quota: " + membership.ExplainDisk(asked, disk)
}
