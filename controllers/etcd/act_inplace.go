package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// maxBegun bounds how many EtcdRestores are remembered.
const maxBegun = 32

// errWithdrawn says that an EtcdRestore may not begin any more.
var errWithdrawn = errors.New("the EtcdRestore is gone, has ended, or is too late to begin")

// doRestore performs the steps by which a backup becomes the data.
func (f *fleet) doRestore(ctx context.Context, e *databasev1alpha1.EtcdCluster, s membership.Step, now time.Time) error {
	switch s.Do {
	case membership.CreateFetchPod:
		return f.createFetchPod(ctx, f.situation(e), s.Source)
	case membership.DeleteFetchPod:
		return f.deleteFetchPod(ctx, f.fetchOfSource(s.Source).UID)
	case membership.BeginRestore:
		return f.doBeginRestore(ctx, e, s)
	default:
		return f.doEndRestore(ctx, e, now)
	}
}

// doBeginRestore records that a backup replaces all data. Nothing has been stopped yet; from here on no former member counts.
func (f *fleet) doBeginRestore(ctx context.Context, e *databasev1alpha1.EtcdCluster, s membership.Step) error {
	if err := f.confirmRequest(ctx, s.Source); err != nil {
		return err
	}
	before, restore := e.Status.Membership, s.Restore.DeepCopy()
	if superseded := before.Restore; superseded != nil { // whose first member may have run, and nobody has seen it
		restore.KeptDataIDs = append(restore.KeptDataIDs, superseded.KeptDataIDs...)
	}
	for _, one := range before.Members {
		restore.KeptDataIDs = append(restore.KeptDataIDs, one.DataID)
	}
	e.Status.Membership = &databasev1alpha1.EtcdMembership{
		Token: f.newID(), InitialVersion: e.Status.TargetVersion, FormerDataIDs: before.FormerDataIDs, Restore: restore,
		Members: []databasev1alpha1.EtcdRecordedMember{{Name: f.spec.MemberName(0), DataID: f.newID()}},
	}
	e.Status.CompactedRevision = 0 // of other data
	forgetAccess(e)
	e.Status.BegunRestoreUIDs = append(e.Status.BegunRestoreUIDs, s.Source)
	e.Status.BegunRestoreUIDs = e.Status.BegunRestoreUIDs[max(0, len(e.Status.BegunRestoreUIDs)-maxBegun):]
	return f.save(ctx)
}

// fetchOfSource is the pod that has the backup of that source.
func (f *fleet) fetchOfSource(source types.UID) membership.Fetch {
	if f.Next.UID != "" && f.Next.For == source {
		return f.Next
	}
	return f.Fetch
}

// observeRestores tells which EtcdRestore may begin, and what the pods of backups are for.
func (r *Reconciler) observeRestores(e *databasev1alpha1.EtcdCluster, f *fleet, in inputs) {
	current := f.situation(e).Source()
	waits := slices.ContainsFunc(in.requests, func(one databasev1alpha1.EtcdRestore) bool { return awaitsItsReport(e, &one) })
	for i := range in.requests {
		if one := &in.requests[i]; f.Request == nil && !waits && canBegin(e, one, r.clock.Now()) {
			f.Request = &membership.Request{UID: one.UID, Backup: one.Spec.Backup}
		}
	}
	for i := range in.fetches {
		switch pod := r.fetchOf(e, &in.fetches[i]); {
		case pod.For == current:
			f.Fetch = pod
		case f.Request != nil && pod.For == f.Request.UID:
			f.Next = pod
		case !pod.Deleting:
			f.Strays = append(f.Strays, pod)
		}
	}
}

// awaitsItsReport reports whether an EtcdRestore was carried out last and has not been told so yet. The next one would take its place in the
// status, from which it is told.
func awaitsItsReport(e *databasev1alpha1.EtcdCluster, r *databasev1alpha1.EtcdRestore) bool {
	last := e.Status.LastRestore
	return last != nil && last.RestoreUID == r.UID && r.DeletionTimestamp.IsZero() && r.GetUnreadable() == "" && !r.HasEnded()
}

// canBegin reports whether an EtcdRestore has neither begun nor ended, and is in time. One whose status names a backup has begun, if
// not on this EtcdCluster then on a former one of its name.
func canBegin(e *databasev1alpha1.EtcdCluster, r *databasev1alpha1.EtcdRestore, now time.Time) bool {
	return r.DeletionTimestamp.IsZero() && !r.HasEnded() && r.GetUnreadable() == "" &&
		r.Status.Item == "" && !slices.Contains(e.Status.BegunRestoreUIDs, r.UID) &&
		now.Before(r.BeginsBefore())
}

// confirmRequest asks the API server, as the cache may be behind.
func (a *apiEffects) confirmRequest(ctx context.Context, request types.UID) error {
	for i := range a.requests {
		if a.requests[i].UID != request {
			continue
		}
		live := &databasev1alpha1.EtcdRestore{}
		err := a.APIReader.Get(ctx, ctrlclient.ObjectKeyFromObject(&a.requests[i]), live)
		if ctrlclient.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the EtcdRestore: %w", err)
		}
		if err == nil && live.UID == request && live.Spec.ClusterName == a.etcd.Name && canBegin(a.etcd, live, a.clock.Now()) {
			return nil
		}
	}
	return errWithdrawn
}

// listRequests returns the EtcdRestores of a cluster, from the cache, the oldest first.
func (r *Reconciler) listRequests(ctx context.Context, e *databasev1alpha1.EtcdCluster) ([]databasev1alpha1.EtcdRestore, error) {
	var list databasev1alpha1.EtcdRestoreList
	if err := r.List(ctx, &list, ctrlclient.InNamespace(e.Namespace)); err != nil {
		return nil, fmt.Errorf("listing EtcdRestores: %w", err)
	}
	own := slices.DeleteFunc(list.Items, func(one databasev1alpha1.EtcdRestore) bool { return one.Spec.ClusterName != e.Name })
	slices.SortFunc(own, func(a, b databasev1alpha1.EtcdRestore) int {
		if byAge := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); byAge != 0 {
			return byAge
		}
		return strings.Compare(a.Name, b.Name)
	})
	return own, nil
}

// watchReferrers has objects of a kind wake the clusters that they name.
func watchReferrers(mgr ctrl.Manager, kind ctrlclient.Object, clusterOf func(ctrlclient.Object) string) source.Source {
	return source.Kind[ctrlclient.Object](mgr.GetCache(), kind, handler.EnqueueRequestsFromMapFunc(
		func(_ context.Context, obj ctrlclient.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: clusterOf(obj)}}}
		}))
}
