package etcd

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

func (f *fleet) doCreateFetchPod(ctx context.Context, s membership.Step) error {
	return f.createFetchPod(ctx, f.situation(), s.Source)
}

func (f *fleet) doDeleteFetchPod(ctx context.Context, s membership.Step) error {
	return f.deleteFetchPod(ctx, f.fetchOfSource(s.Source).UID)
}

// doEndRestore ends the restore, and reports a backup of which nothing shows whose data it is.
func (p *pass) doEndRestore(ctx context.Context, _ membership.Step) error {
	if err := p.endRestore(ctx); err != nil || p.Fetch.Warning == "" {
		return err
	}
	p.Events.Eventf(p.cluster, nil, corev1.EventTypeWarning, commonv1.ReasonBackupSourceUnknown, "Restore", "%s", p.Fetch.Warning)
	return nil
}

// endRestore deletes the pod of the backup, and saves that the first member has started with it. Killed between the two, it does
// both again.
func (p *pass) endRestore(ctx context.Context) error {
	for _, left := range append([]membership.Fetch{p.Fetch}, p.Strays...) {
		if err := p.deleteFetchPod(ctx, left.UID); err != nil {
			return err
		}
	}
	record := p.cluster.Status.Membership
	if record.Restore == nil {
		return nil
	}
	p.cluster.Status.LastRestore = &databasev1alpha1.EtcdLastRestore{Time: metav1.NewTime(p.clock.Now()),
		EtcdRestoredBackup: record.Restore.EtcdRestoredBackup,
		RestoreUID:         record.Restore.RestoreUID, RevisionBump: record.Restore.RevisionBump}
	noteFormer(record, record.Restore.KeptDataIDs...)
	record.Restore = nil
	return p.save(ctx)
}

// listFetchPods returns the pods of backups, from the cache, but for those that are not ours.
func (p *pass) listFetchPods(ctx context.Context) ([]corev1.Pod, error) {
	all, err := p.ListPods(ctx, p.cluster, config.FetchAppName)
	return slices.DeleteFunc(all, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, p.cluster) }), err
}

func (a *apiEffects) createFetchPod(ctx context.Context, s membership.Situation, source types.UID) error {
	pod := children.FetchPod(children.Inputs{Cluster: a.cluster, Spec: s.Spec}, s, source, a.LauncherImage)
	if pod == nil {
		return errWithdrawn
	}
	if a.LauncherImage == "" {
		return errors.New("fetching the backup: the operator does not know its own image (RELATED_IMAGE_OPERATOR)")
	}
	return converge.FixedResources(a.CreateOnce(ctx, "Pod", a.cluster, pod, &corev1.Pod{}))
}

func (a *apiEffects) deleteFetchPod(ctx context.Context, uid types.UID) error {
	for i := range a.in.fetches {
		if a.in.fetches[i].UID != uid {
			continue
		}
		if err := a.Delete(ctx, &a.in.fetches[i], ctrlclient.Preconditions{UID: &uid}); ctrlclient.IgnoreNotFound(err) != nil {
			return err
		}
		a.known.noteDeleted(uid, a.clock.Now())
	}
	return nil
}

// fetchOf is what the plan needs to know of the pod of a backup.
func (p *pass) fetchOf(pod *corev1.Pod) membership.Fetch {
	f := children.ReadFetch(pod)
	f.Deleting = f.Deleting || p.known.wasDeleted(pod.UID, p.clock.Now())
	return f
}

// watchFetchPods has the pods of backups wake those who made them.
func watchFetchPods(mgr ctrl.Manager) source.Source {
	return source.Kind[ctrlclient.Object](mgr.GetCache(), &corev1.Pod{}, converge.EnqueueForInstance(config.FetchAppName))
}

// changesNothing reports whether the pass only reads: the object is paused, or there is no cluster and none is being formed.
func (p *pass) changesNothing() bool {
	return p.cluster.Spec.Paused || p.cluster.Status.Membership == nil && p.step.Do != membership.Form && !p.step.Fetches
}

// fetchesOnly reports whether nothing is to be there but what the pod of a backup needs: by what the pass has read there is no member
// yet. It saves nothing, so it may have read what is older than another's write.
func (p *pass) fetchesOnly() bool {
	return p.cluster.Status.Membership == nil && p.step.Fetches && !p.cluster.Spec.Paused
}
