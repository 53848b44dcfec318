package etcd

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// upgradeEffects are effects on a fake API server that has these EtcdBackups, and whose cache has none yet.
func upgradeEffects(t *testing.T, list ...*databasev1alpha1.EtcdBackup) (*apiEffects, ctrlclient.Client) {
	t.Helper()
	known := runtime.NewScheme()
	if err := databasev1alpha1.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	server := fake.NewClientBuilder().WithScheme(known)
	for _, b := range list {
		server = server.WithObjects(b)
	}
	api := server.Build()
	e := builders.EtcdCluster("a").In("ns").Build()
	e.UID, e.Status.TargetVersion = "cluster", "3.6.16"
	e.Status.Membership = &databasev1alpha1.EtcdMembership{Token: "t"}
	return effectsOn(api, e), api
}

// catchUp lets the cache catch up.
func (a *apiEffects) catchUp(t *testing.T) []membership.Backup {
	t.Helper()
	var err error
	if a.in.backups, err = listBackups(t.Context(), a.Client, "ns"); err != nil {
		t.Fatal(err)
	}
	return a.backupsOf(a.in.backups)
}

func TestTheBackupBeforeAnUpgradeIsMadeOnce(t *testing.T) {
	a, _ := upgradeEffects(t, fixture.Nightly())
	if seen, err := a.ReadBackups(t.Context()); err != nil || len(seen) != 1 || !seen[0].Scheduled {
		t.Errorf("the API server is not asked: %+v, %v", seen, err)
	}
	a.catchUp(t)
	for range 2 { // the cache may not show it yet
		if err := a.CreateUpgradeBackup(t.Context(), "a-before-3-7", "nightly"); err != nil {
			t.Fatal(err)
		}
	}
	seen := a.catchUp(t)
	if len(seen) != 2 || !seen[0].Own || seen[0].Token != "t" || seen[0].Scheduled || !seen[1].Scheduled || seen[1].Own {
		t.Errorf("got %+v", seen)
	}
	want := fixture.Nightly().Spec
	want.Schedule, want.TimeZone, want.StartingDeadline, want.Retention = "", "", nil, nil
	if got := a.in.backups[0].Spec; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestAStrangersBackupIsRefused(t *testing.T) {
	a, _ := upgradeEffects(t, fixture.Nightly(), builders.EtcdBackup("a-before-3-7", "a", builders.Volume("backups")).In("ns").Build())
	a.in.backups = []databasev1alpha1.EtcdBackup{*fixture.Nightly()}
	err := a.CreateUpgradeBackup(t.Context(), "a-before-3-7", "nightly")
	if err == nil || !strings.Contains(err.Error(), `EtcdBackup "a-before-3-7" exists and belongs to somebody else`) {
		t.Errorf("got %v", err)
	}
}

func TestTheBackupBeforeAnUpgradeIsDeletedExactly(t *testing.T) {
	a, api := upgradeEffects(t, fixture.Nightly())
	var named *types.UID
	a.Client = interceptor.NewClient(api.(ctrlclient.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, api ctrlclient.WithWatch, b ctrlclient.Object, options ...ctrlclient.DeleteOption) error {
			named = (&ctrlclient.DeleteOptions{}).ApplyOptions(options).Preconditions.UID
			return api.Delete(ctx, b)
		}})
	a.catchUp(t)
	for range 2 { // it is gone the second time
		if err := a.DeleteUpgradeBackup(t.Context(), "nightly"); err != nil || *named != "nightly" {
			t.Error(err, *named)
		}
	}
	if !a.backupsOf(a.in.backups)[0].Deleting {
		t.Error("the cache is believed, which still has it")
	}
	if left := a.catchUp(t); len(left) > 0 {
		t.Errorf("it stays: %+v", left)
	}
}
