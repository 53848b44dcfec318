package config

import (
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestThereIsNoBindingWithoutAUser(t *testing.T) {
	guarded, record := membership.Spec{RequiresLogin: true}, &databasev1alpha1.EtcdMembership{}
	for _, c := range []struct {
		name   string
		spec   membership.Spec
		record *databasev1alpha1.EtcdMembership
		user   string
		want   bool
	}{
		{"no user is let in yet", guarded, record, "", false},
		{"a user is let in", guarded, record, "application-a", true},
		{"etcd requires no login", membership.Spec{}, record, "", true},
		{"there is no cluster yet", membership.Spec{}, nil, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (Logins{Published: Login{User: c.user}}).HaveBinding(c.spec, c.record); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
