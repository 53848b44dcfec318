package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
)

const (
	// accessLimit bounds the question who may log in. etcd takes a tenth of a second for each password, on purpose.
	accessLimit = 2500 * time.Millisecond
	// accessInterval is the time between two such questions at rest. etcd writes entries to its log for them.
	accessInterval = 30 * time.Minute
)

// lookAtAccess asks who may log in, where something is to be done about it, or it was not asked for long.
func (f *fleet) lookAtAccess(ctx context.Context, e *databasev1alpha1.EtcdCluster, now, seen time.Time) {
	record, published := f.situation(e).Login(), f.logins.Published
	f.wanted = f.logins.Wanted(record)
	isOver := record.FormerUntil != nil && !now.Before(record.FormerUntil.Time)
	isSettled := record.Required && published == f.wanted && published.User == record.User && !isOver &&
		(record.FormerUser == "" || record.FormerUntil != nil)
	if f.Listed && (!isSettled || now.Sub(seen) >= accessInterval) {
		f.askAccess(ctx, record)
	}
	f.Access.Published, f.Access.Wanted, f.Access.IsOver = published.User, f.wanted.User, isOver
}

func (f *fleet) askAccess(ctx context.Context, record databasev1alpha1.EtcdLogin) {
	server, err := f.anyVoter()
	if err != nil {
		return
	}
	ctx, done := context.WithTimeout(ctx, accessLimit)
	defer done()
	if f.Access, err = server.LookAtAccess(ctx, f.logins.Users(record), !record.Required); err != nil {
		log.FromContext(ctx).Info("etcd does not tell who may log in", "error", err.Error())
		f.Access = membership.Access{LockedOut: errors.Is(err, wire.ErrLockedOut)}
	}
}

// nextLogins are those that our own Secrets are to have: what applications log in with is published once etcd lets them in by it,
// and that is on record.
func (f *fleet) nextLogins(e *databasev1alpha1.EtcdCluster, l config.Logins) config.Logins {
	if f.Access.IsRight() && f.wanted.Password != "" && f.situation(e).Login().User == f.wanted.User {
		l.Published = f.wanted
	}
	return l
}

// changeAccess has etcd change who may log in.
func (f *fleet) changeAccess(ctx context.Context, e *databasev1alpha1.EtcdCluster, s membership.Step) error {
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	record := f.situation(e).Login()
	switch s.Do {
	case membership.AddRole:
		return server.AddRole(ctx)
	case membership.RequireLogin:
		return server.RequireLogin(ctx)
	case membership.SetUser:
		users := f.logins.Users(record)
		i := slices.IndexFunc(users, func(u wire.User) bool { return u.Name == s.User })
		if i < 0 {
			return fmt.Errorf("user %s is none of the operator's", s.User)
		}
		return server.SetUser(ctx, users[i])
	}
	if err := server.DropUser(ctx, s.User); err != nil || s.User != record.FormerUser {
		return err
	}
	record.FormerUser, record.FormerUntil = "", nil
	e.Status.Login = &record
	return f.save(ctx)
}

// forgetAccess has it looked at anew who may log in, as of a new cluster: other data has other users, with other passwords, and may
// ask nobody for a login.
func forgetAccess(e *databasev1alpha1.EtcdCluster) {
	if e.Status.Login != nil {
		e.Status.Login.Required = false
	}
}

// recordLogin records that a login is required, and the applications' user that is about to be published. The time for which the
// user before is let in begins when the other was seen to be published: applications cannot have known of it before.
func (f *fleet) recordLogin(e *databasev1alpha1.EtcdCluster, now time.Time) {
	record := f.situation(e).Login()
	record.Required = true
	if next := f.Access.Wanted; next != "" && next != record.User {
		record.User, record.FormerUser, record.FormerUntil = next, record.User, nil
	} else if record.FormerUser != "" {
		until := metav1.NewTime(now.Add(passwords.Overlap))
		record.FormerUntil = &until
	}
	e.Status.Login = &record
}
