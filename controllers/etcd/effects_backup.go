package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

func (a *apiEffects) CreateFetchPod(ctx context.Context, s membership.Situation, source types.UID) error {
	in := children.Inputs{Cluster: a.cluster, Spec: s.Spec, BackupSize: a.known.backupSizes[source]}
	pod := children.FetchPod(in, s, source, a.LauncherImage)
	if pod == nil {
		return fleet.ErrWithdrawn
	}
	if a.LauncherImage == "" {
		return errors.New("fetching the backup: the operator does not know its own image (RELATED_IMAGE_OPERATOR)")
	}
	// One pod requests that size. If no node can promise as much, the next pod starts without it: only what is used counts for that one.
	delete(a.known.backupSizes, source)
	return converge.FixedResources(a.CreateOnce(ctx, "Pod", a.cluster, pod, &corev1.Pod{}))
}

func (a *apiEffects) DeleteFetchPod(ctx context.Context, uid types.UID) error {
	for i := range a.in.fetches {
		if a.in.fetches[i].UID != uid {
			continue
		}
		if err := a.Delete(ctx, &a.in.fetches[i], ctrlclient.Preconditions{UID: &uid}); ctrlclient.IgnoreNotFound(err) != nil {
			return err
		}
		a.known.deleted.note(uid, a.clock.Now())
		a.noteBackupSize(children.ReadFetch(&a.in.fetches[i]))
	}
	return nil
}

// noteBackupSize remembers the size of a backup for which a node had no room, so that the next pod requests that much. An operator that
// restarts forgets it, and learns it again from the next pod without room.
func (a *apiEffects) noteBackupSize(f membership.Fetch) {
	if f.NodeFull {
		a.known.backupSizes = map[types.UID]int64{f.For: f.SizeWithoutRoom} // only one restore runs at a time
	}
}

// ConfirmRequest asks the API server, as the cache may be behind.
func (a *apiEffects) ConfirmRequest(ctx context.Context, request types.UID) error {
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
	return fleet.ErrWithdrawn
}

func (a *apiEffects) ReadBackups(ctx context.Context) ([]membership.Backup, error) {
	list, err := listBackups(ctx, a.APIReader, a.cluster.Namespace)
	return a.backupsOf(list), err
}

// CreateUpgradeBackup takes over all that says where to and how, and nothing that says when, or what is kept.
func (a *apiEffects) CreateUpgradeBackup(ctx context.Context, name, like string) error {
	i := slices.IndexFunc(a.in.backups, func(b databasev1alpha1.EtcdBackup) bool { return b.Name == like })
	b := children.UpgradeBackup(children.Inputs{Cluster: a.cluster}, name, a.in.backups[i].Spec.BackupOptions)
	return a.CreateOnce(ctx, "EtcdBackup", a.cluster, b, &databasev1alpha1.EtcdBackup{})
}

func (a *apiEffects) DeleteUpgradeBackup(ctx context.Context, name string) error {
	for i := range a.in.backups {
		if a.in.backups[i].Name != name {
			continue
		}
		uid := a.in.backups[i].UID
		if err := a.Delete(ctx, &a.in.backups[i], ctrlclient.Preconditions{UID: &uid}); ctrlclient.IgnoreNotFound(err) != nil {
			return err
		}
		a.known.deleted.note(uid, a.clock.Now())
	}
	return nil
}

// WarnOfSource reports a backup of which nothing shows whose data it is.
func (a *apiEffects) WarnOfSource(warning string) {
	a.Events.Eventf(a.cluster, nil, corev1.EventTypeWarning, commonv1.ReasonBackupSourceUnknown, "Restore", "%s", warning)
}

// backupsOf is what the plan needs to know of these EtcdBackups.
func (o *object) backupsOf(list []databasev1alpha1.EtcdBackup) []membership.Backup {
	all := make([]membership.Backup, 0, len(list))
	for i := range list {
		b := children.ReadBackup(o.cluster, &list[i])
		b.Deleting = b.Deleting || o.known.deleted.has(b.UID, o.clock.Now())
		all = append(all, b)
	}
	return all
}

// listBackups returns the EtcdBackups of a namespace, by name.
func listBackups(ctx context.Context, reader ctrlclient.Reader, namespace string) ([]databasev1alpha1.EtcdBackup, error) {
	var list databasev1alpha1.EtcdBackupList
	if err := reader.List(ctx, &list, ctrlclient.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing EtcdBackups: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b databasev1alpha1.EtcdBackup) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}
