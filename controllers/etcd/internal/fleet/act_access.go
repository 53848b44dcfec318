package fleet

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/rotation"
)

func (f *Fleet) doAddRole(ctx context.Context, _ membership.Step) error {
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	return server.AddRole(ctx)
}

func (f *Fleet) doRequireLogin(ctx context.Context, _ membership.Step) error {
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	return server.RequireLogin(ctx)
}

func (f *Fleet) doSetUser(ctx context.Context, s membership.Step) error {
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	users := f.Logins.Users(f.Situation().Login())
	i := slices.IndexFunc(users, func(u wire.User) bool { return u.Name == s.User })
	if i < 0 {
		return fmt.Errorf("user %s is none of the operator's", s.User)
	}
	return server.SetUser(ctx, users[i])
}

func (f *Fleet) doDropUser(ctx context.Context, s membership.Step) error {
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	record := f.Situation().Login()
	if err := server.DropUser(ctx, s.User); err != nil || s.User != record.FormerUser {
		return err
	}
	record.FormerUser, record.FormerUntil = "", nil
	f.Cluster.Status.Login = &record
	return f.save(ctx)
}

// forgetAccess forgets who may log in, so that the next pass asks etcd, as in a new cluster: other data has other users, with other
// passwords, and may require no login.
func (f *Fleet) forgetAccess() {
	if f.Cluster.Status.Login != nil {
		f.Cluster.Status.Login.Required = false
	}
}

// recordLogin records that a login is required, and the applications' user that is about to be published. The time for which the
// user before is let in starts when the other was seen to be published: applications cannot have known of it before.
func (f *Fleet) recordLogin(membership.Step) {
	record := f.Situation().Login()
	record.Required = true
	if next := f.Access.Wanted; next != "" && next != record.User {
		record.User, record.FormerUser, record.FormerUntil = next, record.User, nil
	} else if record.FormerUser != "" {
		until := metav1.NewTime(rotation.End(f.Clock.Now(), passwords.Overlap))
		record.FormerUntil = &until
	}
	f.Cluster.Status.Login = &record
}
