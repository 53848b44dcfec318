package membership

import (
	"slices"
	"time"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// NextRequest returns the EtcdRestore of a list that may start next, nil if there is none. The list has the oldest first.
func NextRequest(status *databasev1alpha1.EtcdClusterStatus, list []databasev1alpha1.EtcdRestore, now time.Time) *Request {
	if slices.ContainsFunc(list, func(r databasev1alpha1.EtcdRestore) bool { return awaitsItsReport(status, &r) }) {
		return nil
	}
	for i := range list {
		if MayStart(status, &list[i], now) {
			return &Request{UID: list[i].UID, Backup: list[i].Spec.Backup}
		}
	}
	return nil
}

// awaitsItsReport reports whether an EtcdRestore was carried out last and its own status does not say so yet. The next one would take
// its place in the status of the EtcdCluster, from which it is read.
func awaitsItsReport(status *databasev1alpha1.EtcdClusterStatus, r *databasev1alpha1.EtcdRestore) bool {
	last := status.LastRestore
	return last != nil && last.RestoreUID == r.UID && r.DeletionTimestamp.IsZero() && r.GetUnreadable() == "" && !r.HasEnded()
}

// MayStart reports whether an EtcdRestore has neither started nor ended, and is in time. One whose status names a backup has started, if
// not on this EtcdCluster then on a former one of its name.
func MayStart(status *databasev1alpha1.EtcdClusterStatus, r *databasev1alpha1.EtcdRestore, now time.Time) bool {
	return r.DeletionTimestamp.IsZero() && !r.HasEnded() && r.GetUnreadable() == "" &&
		r.Status.Item == "" && !slices.Contains(status.BegunRestoreUIDs, r.UID) &&
		now.Before(r.StartsBefore())
}
