package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// errNotBackedUp says that the cache was behind: the next minor version must wait for a backup.
var errNotBackedUp = errors.New("an upgrade backup must be complete first")

func (f *fleet) doCreateUpgradeBackup(ctx context.Context, s membership.Step) error {
	return f.createUpgradeBackup(ctx, s.Backup, s.Like)
}

func (f *fleet) doDeleteUpgradeBackup(ctx context.Context, s membership.Step) error {
	return f.deleteUpgradeBackup(ctx, s.Backup)
}

// doSetVersion saves which version pods are made with. Before it leaves a minor version it asks the API server about backups: one by
// a schedule that was made just before the edit of the version must not be overlooked.
func (f *fleet) doSetVersion(ctx context.Context, s membership.Step) error {
	next, err := membership.ParseVersion(s.Version)
	if err != nil {
		return err
	}
	if live := f.situation(); live.LeavesMinor(next) {
		if live.Backups, err = f.readBackups(ctx); err != nil {
			return err
		}
		if first, ok := live.AwaitBackup(next); ok {
			return fmt.Errorf("%w: %s", errNotBackedUp, first.Phrase())
		}
	}
	f.cluster.Status.TargetVersion, f.cluster.Status.TargetImage = s.Version, s.Image
	return f.save(ctx)
}

func (a *apiEffects) readBackups(ctx context.Context) ([]membership.Backup, error) {
	list, err := listBackups(ctx, a.APIReader, a.cluster.Namespace)
	return a.backupsOf(list), err
}

// createUpgradeBackup takes over all that says where to and how, and nothing that says when, or what is kept.
func (a *apiEffects) createUpgradeBackup(ctx context.Context, name, like string) error {
	i := slices.IndexFunc(a.in.backups, func(b databasev1alpha1.EtcdBackup) bool { return b.Name == like })
	b := children.UpgradeBackup(children.Inputs{Cluster: a.cluster}, name, a.in.backups[i].Spec.BackupOptions)
	return a.CreateOnce(ctx, "EtcdBackup", a.cluster, b, &databasev1alpha1.EtcdBackup{})
}

func (a *apiEffects) deleteUpgradeBackup(ctx context.Context, name string) error {
	for i := range a.in.backups {
		if a.in.backups[i].Name != name {
			continue
		}
		uid := a.in.backups[i].UID
		if err := a.Delete(ctx, &a.in.backups[i], ctrlclient.Preconditions{UID: &uid}); ctrlclient.IgnoreNotFound(err) != nil {
			return err
		}
		a.known.noteDeleted(uid, a.clock.Now())
	}
	return nil
}

// backupsOf is what the plan needs to know of these EtcdBackups.
func (p *pass) backupsOf(list []databasev1alpha1.EtcdBackup) []membership.Backup {
	all := make([]membership.Backup, 0, len(list))
	for i := range list {
		b := children.ReadBackup(p.cluster, &list[i])
		b.Deleting = b.Deleting || p.known.wasDeleted(b.UID, p.clock.Now())
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
