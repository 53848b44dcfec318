package membership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
)

// Access is who may log in, by what a pass has asked. It has no password.
type Access struct {
	Known     bool     // etcd was asked, and has answered all below, but for what is read from our own Secret
	Required  bool     // it serves no client that has not logged in
	HasRole   bool     // that of applications
	Refused   []string // users of ours that it does not let in, or with another role, in the order in which they are to be set
	Intruders []string // users of previous data that may do everything, or have a name of ours; asked only before a login is required
	LockedOut bool     // it does not take the operator's token
	// TooManyUsers: it has more than MaxUsers, so who of them may do everything is not known.
	TooManyUsers bool
	// Published is the applications' user in the Secret <name>-binding, as it was read; empty if there is none.
	Published string
	// Wanted is the applications' user to be published, which is recorded before; empty for none.
	Wanted string
	// IsOver is whether the time is over for which the former user of the applications is let in.
	IsOver bool
}

// MaxUsers is how many users are looked through before a login is required.
const MaxUsers = 256

// IsRight reports whether etcd lets in who may, by what it was asked.
func (a Access) IsRight() bool { return a.Known && a.Required && a.HasRole && len(a.Refused) == 0 }

// Login is what is recorded of who may log in.
func (s Situation) Login() databasev1alpha1.EtcdLogin {
	if s.Status.Login == nil {
		return databasev1alpha1.EtcdLogin{}
	}
	return *s.Status.Login
}

// blockWhileLockedOut asks a human while the members do not take the operator's token: it is signed with a key that is not the one
// which they have read when they started, or their clocks are so far ahead of the operator's that it has expired. etcd gives both
// the same answer (authInfoFromToken in server/auth/store.go).
func (s Situation) blockWhileLockedOut() (Step, bool) {
	refusing := s.refusing()
	if !s.Access.LockedOut && (s.Listed || len(refusing) == 0) {
		return Step{}, false
	}
	if !s.RequiresLogin {
		return Step{Do: Block, Reason: commonv1.ReasonLockedOut, RequeueAfter: time.Second,
			Message: "the data asks for a login, and spec.auth is not " +
				"set: make a new EtcdCluster with auth, and restore the data there; or log in as root, and run etcdctl auth disable"}, true
	}
	who := "the members"
	if len(refusing) > 0 {
		who = strings.Join(NamesOf(refusing), ", ")
	}
	return Step{Do: Block, Reason: commonv1.ReasonLockedOut, RequeueAfter: time.Second, Message: fmt.Sprintf(
		"%s do not take the operator's token: clients are served, and no member can be changed. If their clocks are more than %d minutes "+
			"ahead of the operator's, set the clocks of the nodes right. Otherwise restore Secret %q as it was; or, with storage, "+
			"delete the pods one at a time, each when the one before is ready: new ones take the key that is in Secret %q now",
		who, int(etcdtoken.Life.Minutes()), s.SystemName(), s.SystemName())}, true
}

// refusing are the recorded members that run and do not take the operator's token.
func (s Situation) refusing() []Member {
	return s.Where(func(m Member) bool { return m.Record != nil && m.View.LockedOut })
}

// blockOnRefusals asks a human while the majority takes the operator's token and these members do not: they run, so waiting for them
// ends nothing.
func (s Situation) blockOnRefusals(refusing []Member) Step {
	names := strings.Join(NamesOf(refusing), ", ")
	return Step{Do: Block, Reason: commonv1.ReasonLockedOut, RequeueAfter: time.Second, Message: fmt.Sprintf(
		"%s refuses the operator's token, which the other members accept, and no member is changed. If its clock is more than %d minutes ahead "+
			"of the operator's, set the clock of its node right. Otherwise, with storage, delete its pod: the new one reads the key again",
		names, int(etcdtoken.Life.Minutes()))}
}

// requireLogin brings who may log in where spec.auth wants it. A login is required once our own users are let in, and no other user
// may do everything: the data may have users already. The applications have two users by turns, as a user has one password.
func (s Situation) requireLogin() (Step, bool) {
	access, record := s.Access, s.Login()
	if !s.RequiresLogin {
		return Step{}, false
	}
	if !access.Known {
		return Step{Do: Wait, Message: "waiting for etcd to say who may log in", RequeueAfter: ShortRequeue}, !record.Required
	}
	switch {
	case !access.HasRole:
		return Step{Do: AddRole, User: "application", Message: "the role that applications have"}, true
	case !record.Required && len(access.Intruders) > 0:
		return Step{Do: DropUser, User: access.Intruders[0], Message: "it comes from previous data, and is not the operator's"}, true
	case len(access.Refused) > 0:
		return Step{Do: SetUser, User: access.Refused[0]}, true
	case access.TooManyUsers:
		return s.blockOnTooManyUsers(), true
	case !access.Required:
		return Step{Do: RequireLogin}, true
	case !record.Required, access.Wanted != "" && access.Wanted != record.User, s.seesPublished():
		return Step{Do: RecordLogin}, true
	case access.IsOver:
		return Step{Do: DropUser, User: record.FormerUser, Message: "another is published"}, true
	}
	return Step{}, false
}

// blockOnTooManyUsers asks a human to delete users. etcd accepts the operator's password of root by then.
func (s Situation) blockOnTooManyUsers() Step {
	served := "clients are served without a login"
	if s.Access.Required {
		served = "clients that log in are served"
	}
	return Step{Do: Block, Reason: commonv1.ReasonTooManyUsers, RequeueAfter: 10 * time.Second, Message: fmt.Sprintf(
		"the data has more than %d users, and those who may do everything are to be deleted: %s, and no member is changed, "+
			"until you delete some (etcdctl user delete, as root with the password in Secret %q)", MaxUsers, served, s.SystemName())}
}

// seesPublished reports whether the recorded user of the applications was seen to be published, and the one before has no time limit yet.
func (s Situation) seesPublished() bool {
	record := s.Login()
	return record.FormerUser != "" && record.FormerUntil == nil && s.Access.Published == record.User
}

// ApplicationUsers are those that applications log in as, by turns.
var ApplicationUsers = []string{"application-a", "application-b"}

// BackupUser may take snapshots. For that etcd asks that a user may do everything.
const BackupUser = "backup"

// OperatorUsers are the names of all users that the operator sets.
func OperatorUsers() []string {
	return append([]string{etcdtoken.Root, BackupUser}, ApplicationUsers...)
}

// NextUser is the one that applications log in as next; empty for none yet. published is the one in the Secret, empty if that is
// lost, and isCurrent says whether its password is the wanted one. The password of a user who may log in is not changed: while the
// user before is still let in, the next change waits.
func NextUser(record databasev1alpha1.EtcdLogin, published string, isCurrent bool) string {
	other := ApplicationUsers[(slices.Index(ApplicationUsers, record.User)+1)%len(ApplicationUsers)] // the first if none is recorded
	switch {
	case record.FormerUser == "" && (published == "" || published == record.User && !isCurrent):
		return other
	case published == "" && record.FormerUntil != nil:
		return ""
	}
	return record.User
}
