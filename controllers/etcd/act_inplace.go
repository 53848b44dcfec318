package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// maxStarted bounds how many EtcdRestores are remembered.
const maxStarted = 32

// errWithdrawn says that an EtcdRestore may not start any more.
var errWithdrawn = errors.New("the EtcdRestore is gone, has ended, or is too late to start")

// doStartRestore records that a backup replaces all data. Nothing has been stopped yet; from here on no former member counts.
func (f *fleet) doStartRestore(ctx context.Context, s membership.Step) error {
	if err := f.confirmRequest(ctx, s.Source); err != nil {
		return err
	}
	before, restore := f.cluster.Status.Membership, s.Restore.DeepCopy()
	if superseded := before.Restore; superseded != nil { // whose first member may have run, and no one has seen it
		restore.KeptDataIDs = append(restore.KeptDataIDs, superseded.KeptDataIDs...)
	}
	for _, member := range before.Members {
		restore.KeptDataIDs = append(restore.KeptDataIDs, member.DataID)
	}
	f.cluster.Status.Membership = &databasev1alpha1.EtcdMembership{
		Token: f.newID(), InitialVersion: f.cluster.Status.TargetVersion, FormerDataIDs: before.FormerDataIDs, Restore: restore,
		Members: []databasev1alpha1.EtcdRecordedMember{{Name: f.spec.MemberName(0), DataID: f.newID()}},
	}
	f.cluster.Status.CompactedRevision = 0 // of other data
	f.forgetAccess()
	f.cluster.Status.BegunRestoreUIDs = append(f.cluster.Status.BegunRestoreUIDs, s.Source)
	f.cluster.Status.BegunRestoreUIDs = f.cluster.Status.BegunRestoreUIDs[max(0, len(f.cluster.Status.BegunRestoreUIDs)-maxStarted):]
	return f.save(ctx)
}

// fetchOfSource is the pod that has the backup of that source.
func (f *fleet) fetchOfSource(source types.UID) membership.Fetch {
	if f.Next.UID != "" && f.Next.For == source {
		return f.Next
	}
	return f.Fetch
}

// observeRestores finds which EtcdRestore may start, and what the pods of backups are for.
func (p *pass) observeRestores() {
	current := p.situation().Source()
	p.Request = membership.NextRequest(&p.cluster.Status, p.in.requests, p.clock.Now())
	for i := range p.in.fetches {
		p.AssignFetch(p.fetchOf(&p.in.fetches[i]), current)
	}
}

// confirmRequest asks the API server, as the cache may be behind.
func (a *apiEffects) confirmRequest(ctx context.Context, request types.UID) error {
	for i := range a.in.requests {
		if a.in.requests[i].UID != request {
			continue
		}
		live := &databasev1alpha1.EtcdRestore{}
		err := a.APIReader.Get(ctx, ctrlclient.ObjectKeyFromObject(&a.in.requests[i]), live)
		if ctrlclient.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the EtcdRestore: %w", err)
		}
		if err == nil && live.UID == request && live.Spec.ClusterName == a.cluster.Name &&
			membership.MayStart(&a.cluster.Status, live, a.clock.Now()) {
			return nil
		}
	}
	return errWithdrawn
}

// listRequests returns the EtcdRestores of a cluster, from the cache, the oldest first.
func (p *pass) listRequests(ctx context.Context) ([]databasev1alpha1.EtcdRestore, error) {
	var list databasev1alpha1.EtcdRestoreList
	if err := p.List(ctx, &list, ctrlclient.InNamespace(p.cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("listing EtcdRestores: %w", err)
	}
	own := slices.DeleteFunc(list.Items, func(one databasev1alpha1.EtcdRestore) bool { return one.Spec.ClusterName != p.cluster.Name })
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
