package membership

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// login has the cluster require a login, as is seen and recorded.
func (s *scene) login(seen Access, record databasev1alpha1.EtcdLogin) {
	s.RequiresLogin, s.Access, s.Status.Login = true, seen, &record
}

func TestAccess(t *testing.T) {
	right := Access{Known: true, Required: true, HasRole: true, Published: "application-a", Wanted: "application-a"}
	recorded := databasev1alpha1.EtcdLogin{Required: true, User: "application-a"}
	with := func(edit func(*Access)) Access { a := right; edit(&a); return a }
	for _, c := range []row{
		{"at rest", func(s *scene) { s.login(right, recorded) }, "Idle ", ""},
		{"at rest, without a question", func(s *scene) { s.login(Access{}, recorded) }, "Idle ", ""},
		{"not where the spec does not ask for it", func(s *scene) { s.Access = Access{Known: true} }, "Idle ", ""},
		{"nothing is done before it is known who may log in", func(s *scene) { s.login(Access{}, databasev1alpha1.EtcdLogin{}); s.Size = 5 },
			"Wait ", "who may log in"},
		{"too many users to look through are for a human", func(s *scene) {
			s.login(Access{Known: true, HasRole: true, TooManyUsers: true}, databasev1alpha1.EtcdLogin{})
		}, "Block ", "clients are served without a login"},
		{"too many users are for a human, also if etcd requires a login", func(s *scene) {
			s.login(with(func(a *Access) { a.TooManyUsers = true }), databasev1alpha1.EtcdLogin{})
		}, "Block ", `clients that log in are served, and no member is changed, until you delete some (etcdctl user delete, as root ` +
			`with the password in Secret "a-system")`},
		{"root, as whom a human deletes users, may log in first", func(s *scene) {
			s.login(with(func(a *Access) { a.TooManyUsers, a.Refused = true, []string{"root"} }), databasev1alpha1.EtcdLogin{})
		}, "SetUser ", ""},
		{"the role comes first", func(s *scene) {
			s.login(Access{Known: true, Refused: []string{"root"}, Intruders: []string{"x"}}, databasev1alpha1.EtcdLogin{})
		},
			"AddRole ", ""},
		{"who may do everything and is not ours goes before a login is required", func(s *scene) {
			s.login(Access{Known: true, HasRole: true, Refused: []string{"root"}, Intruders: []string{"x"}}, databasev1alpha1.EtcdLogin{})
		}, "DropUser ", "it comes from previous data"},
		{"who may do everything and is not ours goes before a required login is recorded", func(s *scene) {
			s.login(with(func(a *Access) { a.Intruders = []string{"x"} }), databasev1alpha1.EtcdLogin{})
		},
			"DropUser ", "it comes from previous data"},
		{"our users are let in", func(s *scene) {
			s.login(Access{Known: true, HasRole: true, Refused: []string{"root", "backup"}}, databasev1alpha1.EtcdLogin{})
		}, "SetUser ", ""},
		{"a login is required once our users are let in",
			func(s *scene) { s.login(Access{Known: true, HasRole: true}, databasev1alpha1.EtcdLogin{}) },
			"RequireLogin ", ""},
		{"which is recorded", func(s *scene) { s.login(with(func(a *Access) { a.Published = "" }), databasev1alpha1.EtcdLogin{}) },
			"RecordLogin ", ""},
		{"somebody has taken it back", func(s *scene) { s.login(with(func(a *Access) { a.Required = false }), recorded) }, "RequireLogin ", ""},
		{"the next user is let in before it is recorded", func(s *scene) {
			s.login(with(func(a *Access) { a.Wanted, a.Refused = "application-b", []string{"application-b"} }), recorded)
		}, "SetUser ", ""},
		{"the next user is recorded before it is published",
			func(s *scene) { s.login(with(func(a *Access) { a.Wanted = "application-b" }), recorded) },
			"RecordLogin ", ""},
		{"the time of the one before does not start until it was seen published", func(s *scene) {
			s.login(with(func(a *Access) { a.Wanted = "application-b" }),
				databasev1alpha1.EtcdLogin{Required: true, User: "application-b", FormerUser: "application-a"})
		}, "Idle ", ""},
		{"the time of the one before starts once the next was seen published", func(s *scene) {
			s.login(with(func(a *Access) { a.Published, a.Wanted = "application-b", "application-b" }),
				databasev1alpha1.EtcdLogin{Required: true, User: "application-b", FormerUser: "application-a"})
		}, "RecordLogin ", ""},
		{"the user before goes when its time is over", func(s *scene) {
			recorded := recorded
			recorded.FormerUser, recorded.FormerUntil = "application-b", &metav1.Time{}
			s.login(with(func(a *Access) { a.IsOver = true }), recorded)
		}, "DropUser ", "another is published"},
		{"a token that is refused", func(s *scene) { s.login(Access{LockedOut: true}, recorded) }, "Block ",
			`set the clocks of the nodes right. Otherwise restore Secret "a-system" as it was`},
		{"by all members", func(s *scene) {
			s.login(Access{}, recorded)
			s.Listed = false
			for i := range s.Members {
				s.silence(i)
				s.Members[i].View.LockedOut = true
			}
		}, "Block ", "a-0, a-1, a-2 do not take the operator's token: clients are served, and no member can be changed. " +
			"If their clocks are more than 10 minutes ahead of the operator's, set the clocks of the nodes right."},
		{"a token that one member refuses is not silence",
			func(s *scene) { s.login(Access{}, recorded); s.silence(2); s.Members[2].View.LockedOut = true },
			"Block ", "a-2 refuses the operator's token, which the other members accept, and no member is changed. " +
				"If its clock is more than 10 minutes ahead of the operator's"},
		{"a member that is silent precedes one that refuses the token", func(s *scene) {
			s.login(Access{}, recorded)
			s.Size = 5
			s.silence(1)
			s.silence(2)
			s.Members[2].View.LockedOut = true
		}, "Wait ", "waiting for a-1, a-2"},
		{"of data that asks for a login", func(s *scene) { s.Listed = false; s.silence(0); s.Members[0].View.LockedOut = true },
			"Block ", "spec.auth is not set"},
	} {
		t.Run(c.name, c.test)
	}
}

func TestNextUser(t *testing.T) {
	for _, c := range []struct {
		name      string
		record    databasev1alpha1.EtcdLogin
		published string
		isCurrent bool
		want      string
	}{
		{"the first", databasev1alpha1.EtcdLogin{}, "", false, "application-a"},
		{"it stays", databasev1alpha1.EtcdLogin{User: "application-a"}, "application-a", true, "application-a"},
		{"the other", databasev1alpha1.EtcdLogin{User: "application-a"}, "application-a", false, "application-b"},
		{"after the other the first is next again", databasev1alpha1.EtcdLogin{User: "application-b"}, "application-b", false, "application-a"},
		{"not before the last change is published", databasev1alpha1.EtcdLogin{User: "application-b", FormerUser: "application-a"},
			"application-a", false, "application-b"},
		{"not while the one before is let in", databasev1alpha1.EtcdLogin{User: "application-b", FormerUser: "application-a"}, "application-b",
			false, "application-b"},
		{"where the last is lost, the other", databasev1alpha1.EtcdLogin{User: "application-a"}, "", false, "application-b"},
		{"where it is lost, the same before it was seen", databasev1alpha1.EtcdLogin{User: "application-b", FormerUser: "application-a"}, "",
			false, "application-b"},
		{"where it is lost, no one while the one before is let in",
			databasev1alpha1.EtcdLogin{User: "application-b", FormerUser: "application-a", FormerUntil: &metav1.Time{}}, "", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := NextUser(c.record, c.published, c.isCurrent); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
