package fleet

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/rotation"
)

const (
	// accessLimit bounds the question who may log in. etcd takes a tenth of a second for each password, on purpose.
	accessLimit = 2500 * time.Millisecond
	// accessInterval is the time between two such questions at rest. etcd writes entries to its log for them.
	accessInterval = 30 * time.Minute
)

// lookAtAccess asks who may log in, where something is to be done about it, or it was not asked for long.
func (f *Fleet) lookAtAccess(ctx context.Context) {
	record, published, now := f.Situation().Login(), f.Logins.Published, f.Clock.Now()
	wanted := f.Logins.Wanted(record)
	isOver := rotation.HasEnded(config.OverlapEnd(record), now)
	isSettled := record.Required && published == wanted && published.User == record.User && !isOver &&
		(record.FormerUser == "" || record.FormerUntil != nil)
	if f.Listed && (!isSettled || now.Sub(f.Memory.access) >= accessInterval) {
		f.askAccess(ctx, record)
	}
	f.wanted = wanted
	f.Access.Published, f.Access.Wanted, f.Access.IsOver = published.User, wanted.User, isOver
}

func (f *Fleet) askAccess(ctx context.Context, record databasev1alpha1.EtcdLogin) {
	server, err := f.anyVoter()
	if err != nil {
		return
	}
	ctx, done := context.WithTimeout(ctx, accessLimit)
	defer done()
	if f.Access, err = server.LookAtAccess(ctx, f.Logins.Users(record), !record.Required); err != nil {
		log.FromContext(ctx).Info("etcd does not report who may log in", "error", err.Error())
		f.Access = membership.Access{LockedOut: errors.Is(err, wire.ErrLockedOut)}
	}
}

// NextLogins are those that our own Secrets are to have: what applications log in with is published once etcd lets them in by it,
// and that is recorded.
func (f *Fleet) NextLogins() config.Logins {
	next := f.Logins
	if f.Access.IsRight() && f.wanted.Password != "" && f.Situation().Login().User == f.wanted.User {
		next.Published = f.wanted
	}
	return next
}
