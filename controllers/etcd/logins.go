package etcd

import (
	"cmp"
	"time"

	"google.golang.org/grpc/credentials"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
)

// backupUser may take snapshots. For that etcd asks that a user may do everything.
const backupUser = "backup"

// login is a user of etcd and its password.
type login struct{ user, password string }

// logins are who may log in to one EtcdCluster, and how the operator does.
type logins struct {
	tokenKey     string // with which members and operator sign tokens
	root, backup string // passwords
	published    login  // of the applications, in <name>-binding as it was read
	chosen       string // the password in the user's Secret; empty while that is of no use
	problem      string // with that Secret
	isUnread     bool   // it could not be read, and is tried again
}

// token logs the operator in; nil without auth.
func (l logins) token(clock func() time.Time) credentials.PerRPCCredentials {
	if l.tokenKey == "" {
		return nil
	}
	return etcdtoken.New([]byte(l.tokenKey), clock)
}

// wanted is the login that applications are to have next. It stays while the one before it is let in, too: there are two users.
func (l logins) wanted(record databasev1alpha1.EtcdLogin) login {
	chosen := cmp.Or(l.chosen, l.published.password)
	switch next := membership.NextUser(record, l.published.user, l.published.password == chosen); next {
	case "", l.published.user:
		return login{next, l.published.password}
	default:
		return login{next, chosen}
	}
}

// users are those that etcd is to let in, in the order in which it is told: without root it requires no login.
func (l logins) users(record databasev1alpha1.EtcdLogin) []wire.User {
	all := []wire.User{{Name: wire.Root, Password: l.root, Role: wire.Root}, {Name: backupUser, Password: l.backup, Role: wire.Root}}
	if next := l.wanted(record); next.password != "" {
		all = append(all, wire.User{Name: next.user, Password: next.password, Role: wire.ApplicationRole})
	}
	return all
}

// recheckAfter is how soon there is something to do about who may log in; 0 for nothing.
func (l logins) recheckAfter(record databasev1alpha1.EtcdLogin, now time.Time) time.Duration {
	var soonest time.Duration
	if l.isUnread {
		soonest = passwords.SecretReread
	}
	if until := record.FormerUntil; until != nil {
		soonest = converge.Soonest(soonest, max(until.Sub(now), membership.ShortRequeue))
	}
	return soonest
}
