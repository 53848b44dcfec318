package config

import (
	"cmp"
	"time"

	"google.golang.org/grpc/credentials"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/rotation"
)

// Login is a user of etcd and its password.
type Login struct{ User, Password string }

// Logins are who may log in to one EtcdCluster, and how the operator does.
type Logins struct {
	TokenKey     string // with which members and operator sign tokens
	Root, Backup string // passwords
	Published    Login  // of the applications, in <name>-binding as it was read
	Chosen       string // the password in the user's Secret; empty while that is of no use
	Problem      string // with that Secret
	IsUnread     bool   // it could not be read, and is tried again
}

// HaveBinding reports whether clients can be shown how to connect to the cluster with that record: with auth that takes a user who is
// let in.
func (l Logins) HaveBinding(spec membership.Spec, record *databasev1alpha1.EtcdMembership) bool {
	return record != nil && (!spec.RequiresLogin || l.Published.User != "")
}

// Token logs the operator in; nil without auth.
func (l Logins) Token(clock func() time.Time) credentials.PerRPCCredentials {
	if l.TokenKey == "" {
		return nil
	}
	return etcdtoken.New([]byte(l.TokenKey), clock)
}

// Wanted is the login that applications are to have next. It stays while the former one is let in, too: there are two users.
func (l Logins) Wanted(record databasev1alpha1.EtcdLogin) Login {
	chosen := cmp.Or(l.Chosen, l.Published.Password)
	switch next := membership.NextUser(record, l.Published.User, l.Published.Password == chosen); next {
	case "", l.Published.User:
		return Login{next, l.Published.Password}
	default:
		return Login{next, chosen}
	}
}

// Users are those that etcd is to let in, in the order in which it is changed: without root it requires no login.
func (l Logins) Users(record databasev1alpha1.EtcdLogin) []wire.User {
	all := []wire.User{
		{Name: wire.Root, Password: l.Root, Role: wire.Root},
		{Name: membership.BackupUser, Password: l.Backup, Role: wire.Root},
	}
	if next := l.Wanted(record); next.Password != "" {
		all = append(all, wire.User{Name: next.User, Password: next.Password, Role: wire.ApplicationRole})
	}
	return all
}

// RecheckAfter is how soon there is something to do about who may log in; 0 for nothing.
func (l Logins) RecheckAfter(record databasev1alpha1.EtcdLogin, now time.Time) time.Duration {
	soonest := rotation.RecheckAfter(OverlapEnd(record), now, membership.ShortRequeue)
	if l.IsUnread {
		soonest = converge.Soonest(soonest, passwords.SecretReread)
	}
	return soonest
}

// OverlapEnd is until when the former user of the applications is let in; zero while the overlap has not started.
func OverlapEnd(record databasev1alpha1.EtcdLogin) time.Time {
	return ptr.Deref(record.FormerUntil, metav1.Time{}).Time
}
