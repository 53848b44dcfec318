package etcd

import (
	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// namesAllData reports whether the record names all data that members may have left on their volumes.
func (o *object) namesAllData() bool {
	return o.cluster.Status.Membership != nil && o.cluster.Status.Membership.NamesAllData
}

// warnOfUncheckedData reports, once, that the record no longer names all data. From then on, volumes are not searched for the data of
// another cluster.
func (o *object) warnOfUncheckedData(namedAll bool) {
	if !namedAll || o.namesAllData() {
		return
	}
	o.Events.Eventf(o.cluster, nil, corev1.EventTypeWarning, commonv1.ReasonForeignDataUnchecked, "Record",
		"status.membership no longer names all data directories of this EtcdCluster, because it has forgotten the oldest, or was older than "+
			"what runs. A member without data now starts on its volume without looking for the data of another cluster there: bind no "+
			"retained volume to a PersistentVolumeClaim of this EtcdCluster")
}
