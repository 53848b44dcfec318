package fleet

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// savedEffects has every save succeed.
type savedEffects struct{ Effects }

func (savedEffects) ConfirmRequest(context.Context, types.UID) error { return nil }
func (savedEffects) Save(context.Context) error                      { return nil }
func (savedEffects) Confirm(context.Context) error                   { return nil }
func (savedEffects) StampClaims(context.Context, membership.Stamp) error {
	return nil
}
func (savedEffects) NewID() string { return "id" }

// Other data has other users, with other passwords: who may log in is looked at again, intruders included.
func TestOtherDataForgetsWhoMayLogIn(t *testing.T) {
	restore := &databasev1alpha1.EtcdMembershipRestore{EtcdRestoredBackup: databasev1alpha1.EtcdRestoredBackup{Item: "i"}}
	for name, start := range map[string]func(*Fleet) error{
		"a backup takes its place": func(f *Fleet) error {
			return f.doStartRestore(t.Context(), membership.Step{Do: membership.StartRestore, Source: "r", Restore: restore})
		},
		"it is formed again": func(f *Fleet) error {
			f.recordForming(membership.Step{Do: membership.Form, Version: "3.6.16"})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &databasev1alpha1.EtcdCluster{Status: databasev1alpha1.EtcdClusterStatus{Membership: &databasev1alpha1.EtcdMembership{},
				Login: &databasev1alpha1.EtcdLogin{Required: true, User: "application-b"}}}
			f := &Fleet{Cluster: e, Spec: membership.Spec{Name: "a", Size: 1, RequiresLogin: true}, Effects: savedEffects{}}
			if err := start(f); err != nil {
				t.Fatal(err)
			}
			if e.Status.Login.Required || e.Status.Login.User != "application-b" {
				t.Errorf("got %+v", e.Status.Login)
			}
		})
	}
}
