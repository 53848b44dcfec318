package config

import (
	appsv1 "k8s.io/api/apps/v1"
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
	spec.Quota = quota(given, spec.VolumeSize)
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

// quota leaves room on a volume of that size for a defragmentation, which writes all data again before it drops the old. One that
// was asked for together with a larger volume waits for it.
func quota(given *databasev1alpha1.EtcdClusterSpec, volume resource.Quantity) int64 {
	switch asked := given.Quota; {
	case asked != nil && given.Storage != nil:
		return min(parts.Bytes(*asked), parts.Bytes(volume))
	case asked != nil:
		return parts.Bytes(*asked)
	case given.Storage != nil:
		return min(maxDefaultQuota, parts.Bytes(volume)/2)
	}
	return maxDefaultQuota
}
