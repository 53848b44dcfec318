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
func (p *pass) lookAtAccess(ctx context.Context) {
	record, published, now := p.situation().Login(), p.in.logins.Published, p.clock.Now()
	wanted := p.in.logins.Wanted(record)
	isOver := record.FormerUntil != nil && !now.Before(record.FormerUntil.Time)
	isSettled := record.Required && published == wanted && published.User == record.User && !isOver &&
		(record.FormerUser == "" || record.FormerUntil != nil)
	if p.Listed && (!isSettled || now.Sub(p.known.access) >= accessInterval) {
		p.askAccess(ctx, record)
	}
	p.wanted = wanted
	p.Access.Published, p.Access.Wanted, p.Access.IsOver = published.User, wanted.User, isOver
}

func (p *pass) askAccess(ctx context.Context, record databasev1alpha1.EtcdLogin) {
	server, err := p.anyVoter()
	if err != nil {
		return
	}
	ctx, done := context.WithTimeout(ctx, accessLimit)
	defer done()
	if p.Access, err = server.LookAtAccess(ctx, p.in.logins.Users(record), !record.Required); err != nil {
		log.FromContext(ctx).Info("etcd does not report who may log in", "error", err.Error())
		p.Access = membership.Access{LockedOut: errors.Is(err, wire.ErrLockedOut)}
	}
}

// nextLogins are those that our own Secrets are to have: what applications log in with is published once etcd lets them in by it,
// and that is recorded.
func (p *pass) nextLogins() config.Logins {
	next := p.in.logins
	if p.Access.IsRight() && p.wanted.Password != "" && p.situation().Login().User == p.wanted.User {
		next.Published = p.wanted
	}
	return next
}

func (p *pass) doAddRole(ctx context.Context, _ membership.Step) error {
	server, err := p.anyVoter()
	if err != nil {
		return err
	}
	return server.AddRole(ctx)
}

func (p *pass) doRequireLogin(ctx context.Context, _ membership.Step) error {
	server, err := p.anyVoter()
	if err != nil {
		return err
	}
	return server.RequireLogin(ctx)
}

func (p *pass) doSetUser(ctx context.Context, s membership.Step) error {
	server, err := p.anyVoter()
	if err != nil {
		return err
	}
	users := p.in.logins.Users(p.situation().Login())
	i := slices.IndexFunc(users, func(u wire.User) bool { return u.Name == s.User })
	if i < 0 {
		return fmt.Errorf("user %s is none of the operator's", s.User)
	}
	return server.SetUser(ctx, users[i])
}

func (p *pass) doDropUser(ctx context.Context, s membership.Step) error {
	server, err := p.anyVoter()
	if err != nil {
		return err
	}
	record := p.situation().Login()
	if err := server.DropUser(ctx, s.User); err != nil || s.User != record.FormerUser {
		return err
	}
	record.FormerUser, record.FormerUntil = "", nil
	p.cluster.Status.Login = &record
	return p.save(ctx)
}

// forgetAccess forgets who may log in, so that the next pass asks etcd, as in a new cluster: other data has other users, with other
// passwords, and may require no login.
func (f *fleet) forgetAccess() {
	if f.cluster.Status.Login != nil {
		f.cluster.Status.Login.Required = false
	}
}

// recordLogin records that a login is required, and the applications' user that is about to be published. The time for which the
// user before is let in starts when the other was seen to be published: applications cannot have known of it before.
func (p *pass) recordLogin(membership.Step) {
	record := p.situation().Login()
	record.Required = true
	if next := p.Access.Wanted; next != "" && next != record.User {
		record.User, record.FormerUser, record.FormerUntil = next, record.User, nil
	} else if record.FormerUser != "" {
		until := metav1.NewTime(p.clock.Now().Add(passwords.Overlap))
		record.FormerUntil = &until
	}
	p.cluster.Status.Login = &record
}
