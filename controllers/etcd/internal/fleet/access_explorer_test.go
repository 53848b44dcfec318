package fleet

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
	"github.com/mainstay-operator/mainstay-operator/test/explore"
)

// accessModel is an etcd of one member with its users, our Secrets, and applications that read them, small and exact. What is
// searched for is an order of events in which an application that follows its Secret is refused, or a stranger may do everything
// although a login is required by the record.
type accessModel struct {
	Users     map[string]modelUser
	Role      bool
	Required  bool
	Login     *databasev1alpha1.EtcdLogin
	Binding   config.Login
	Read      config.Login // what an application has read: it reads again before the overlap is over
	Chosen    int          // the password in the user's Secret
	Minutes   int
	Changes   int   // of the password that may yet come
	Crashes   int   // of the operator that may yet come
	Loss      int   // of the Secret <name>-binding that may yet come
	violation error // the promise that was broken on the way here
}

type modelUser struct{ Password, Role string }

func (a *accessModel) clone() *accessModel {
	next := *a
	next.Users = maps.Clone(a.Users)
	next.Login = a.Login.DeepCopy()
	return &next
}

func (a *accessModel) key() string {
	bare := *a
	bare.Login = nil // by what it says, not by where it is
	return fmt.Sprintf("%+v %+v", bare, a.Login)
}

// accessServer is its server, and what the operator does with the API server. The pass is killed at a call.
type accessServer struct {
	server // of which nothing else is asked
	Effects
	*accessModel
	object       *databasev1alpha1.EtcdCluster
	calls, dieAt int
}

func (a *accessServer) call(do func()) error {
	if a.calls++; a.calls == a.dieAt {
		return errCrashed
	}
	do()
	if a.calls == -a.dieAt { // after it is done
		return errCrashed
	}
	return nil
}

func (a *accessServer) Save(context.Context) error {
	return a.call(func() { a.Login = a.object.Status.Login.DeepCopy() })
}

func (*accessServer) Confirm(context.Context) error { return nil }

func (a *accessServer) LookAtAccess(_ context.Context, users []wire.User, others bool) (membership.Access, error) {
	seen := membership.Access{Known: true, Required: a.Required, HasRole: a.Role}
	for _, u := range users {
		if has, is := a.Users[u.Name]; !is || has.Role != u.Role || a.Required && has.Password != u.Password {
			seen.Refused = append(seen.Refused, u.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Users)) {
		isSpare := slices.Contains(membership.ApplicationUsers, name) &&
			!slices.ContainsFunc(users, func(u wire.User) bool { return u.Name == name })
		if others && name != wire.Root && name != membership.BackupUser && (a.Users[name].Role == wire.Root || isSpare) {
			seen.Intruders = append(seen.Intruders, name)
		}
	}
	return seen, nil
}

func (a *accessServer) AddRole(context.Context) error { return a.call(func() { a.Role = true }) }

func (a *accessServer) SetUser(_ context.Context, u wire.User) error {
	if err := a.call(func() { a.Users[u.Name] = modelUser{Password: u.Password} }); err != nil {
		return err
	}
	return a.call(func() { a.Users[u.Name] = modelUser{u.Password, u.Role} })
}

func (a *accessServer) DropUser(_ context.Context, name string) error {
	return a.call(func() { delete(a.Users, name) })
}

func (a *accessServer) RequireLogin(context.Context) error {
	return a.call(func() { a.Required = true })
}

func (a *accessModel) now() time.Time {
	return time.Unix(0, 0).Add(time.Duration(a.Minutes) * time.Minute)
}

// pass runs one pass of the operator by the shipped code, until it is killed at a call: before it, or after it if dieAt is negative.
// What it publishes last is written unless it was killed.
func (a *accessModel) pass(dieAt int) (bool, error) {
	if dieAt != 0 {
		if a.Crashes == 0 {
			return false, nil
		}
		a.Crashes--
	}
	e := &databasev1alpha1.EtcdCluster{}
	only := []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", ID: "1", StartedBy: "p", Ran: true}}
	e.Status.Membership, e.Status.Login = &databasev1alpha1.EtcdMembership{ClusterID: "1", Members: only}, a.Login.DeepCopy()
	s := &accessServer{accessModel: a, object: e, dieAt: dieAt}
	member := membership.Member{Name: "a-0", Record: &only[0], Listed: &membership.ListedMember{ID: 1, Name: "a-0"},
		Pod: membership.Pod{UID: "p", HasRun: true, Ready: true}, View: membership.View{Answered: true, ID: 1, ClusterID: 1, Leader: 1}}
	f := &Fleet{Cluster: e, Spec: membership.Spec{Name: "a", Size: 1, RequiresLogin: true}, Effects: s, servers: map[string]server{"a-0": s},
		World: membership.World{Listed: true, Members: []membership.Member{member}}, Memory: &Memory{access: a.now()},
		Clock: clocktesting.NewFakePassiveClock(a.now()), Logins: config.Logins{Root: "r", Backup: "b", Published: a.Binding,
			Chosen: fmt.Sprint(a.Chosen)}}
	f.lookAtAccess(context.Background())
	err := f.Act(context.Background(), f.Situation().Plan())
	if dieAt != 0 && !errors.Is(err, errCrashed) {
		return false, nil // there was no such call
	}
	if err == nil {
		a.Binding = f.NextLogins().Published
	}
	return true, nil
}

// check returns which promise is broken.
func (a *accessModel) check() error {
	if a.Login != nil && a.Login.Required {
		for _, name := range slices.Sorted(maps.Keys(a.Users)) {
			if a.Users[name].Role == wire.Root && name != wire.Root && name != membership.BackupUser {
				return broken("user " + name + " may do everything")
			}
		}
		if !a.Required || a.Users[wire.Root].Password != "r" || a.Users[membership.BackupUser].Password != "b" {
			return broken("a login is recorded to be required, and is not, or not by our passwords")
		}
	}
	for _, l := range []config.Login{a.Binding, a.Read} {
		if has := a.Users[l.User]; a.Required && l.User != "" && (has.Password != l.Password || has.Role != wire.ApplicationRole) {
			return broken("user " + l.User + " is refused")
		}
	}
	return nil
}

// accessAction is one event of that model. It reports whether it can happen.
type accessAction struct {
	name string
	do   func(*accessModel) (bool, error)
}

// accessActions are all that can happen next.
func accessActions() []accessAction {
	list := []accessAction{{"pass", func(m *accessModel) (bool, error) { return m.pass(0) }},
		{"an application reads its Secret", func(m *accessModel) (bool, error) {
			happens := m.Read != m.Binding && m.Binding.User != ""
			m.Read = m.Binding
			return happens, nil
		}},
		{"the password changes", func(m *accessModel) (bool, error) {
			if m.Changes == 0 {
				return false, nil
			}
			m.Changes--
			m.Chosen++
			return true, nil
		}},
		{"the binding is lost", func(m *accessModel) (bool, error) {
			if m.Loss == 0 || m.Binding.User == "" || m.Binding.Password != fmt.Sprint(m.Chosen) {
				return false, nil
			}
			m.Loss--
			m.Binding = config.Login{}
			return true, nil
		}},
		{"five minutes pass", func(m *accessModel) (bool, error) {
			if m.Login == nil || m.Login.FormerUntil == nil || m.now().After(m.Login.FormerUntil.Time) || m.Binding.User == "" {
				return false, nil
			}
			m.Minutes += int(passwords.Overlap / time.Minute)
			m.Read = m.Binding // who follows has done so
			return true, nil
		}}}
	for call := 1; call <= 3; call++ {
		for _, at := range []int{call, -call} {
			list = append(list, accessAction{fmt.Sprintf("pass, killed at call %d", at), func(m *accessModel) (bool, error) { return m.pass(at) }})
		}
	}
	return list
}

// settle runs passes until nothing is left to be done. It returns an error if that is never so.
func (a *accessModel) settle() error {
	for range 80 {
		if _, err := a.pass(0); err != nil {
			return err
		}
		if l := a.Login; l != nil && l.Required && l.User == a.Binding.User && a.Binding.Password == fmt.Sprint(a.Chosen) && l.FormerUser == "" {
			if len(a.Users) != 3 {
				return broken("users are left over: " + a.key())
			}
			return nil
		}
		if a.Binding == a.Read || a.Read.User == "" {
			a.Minutes++
		}
		a.Read = a.Binding
	}
	return broken("it does not come to rest: " + a.key())
}

// TestNoOneIsLockedOutByAnotherPassword searches all orders of events.
func TestNoOneIsLockedOutByAnotherPassword(t *testing.T) {
	for _, c := range []struct {
		name  string
		users map[string]modelUser // that the data has from before
		on    bool                 // a login was required before, with the same root
		start accessModel
	}{
		{"a new cluster, two crashes", nil, false, accessModel{Crashes: 2}},
		{"two changes of the password, one crash", nil, false, accessModel{Changes: 2, Crashes: 1}},
		// With a crash before it was seen to be published, too, two users may be in use, and there is no third.
		{"a change of the password while the binding is lost", nil, false, accessModel{Changes: 1, Loss: 1}},
		{"data that has users already, one crash", map[string]modelUser{"root": {"x", "root"}, "stranger": {"y", "root"},
			"application-a": {"z", "root"},
			"application-b": {"z", "application"}, "backup": {"x", "root"}}, false, accessModel{Crashes: 1}},
		{"data that required a login, one crash", map[string]modelUser{"root": {"x", "root"}, "application-a": {"z", "application"}}, true,
			accessModel{Crashes: 1}},
		{"data that asks for a login since it was restored, one crash", map[string]modelUser{"root": {"no one knows it", "root"}}, false,
			accessModel{Required: true, Crashes: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := c.start
			start.Users, start.Required, start.Role = maps.Clone(c.users), c.on || start.Required, c.on
			if start.Users == nil {
				start.Users = map[string]modelUser{}
			}
			search := explore.Search[*accessModel, string]{Start: &start, Limit: 20_000, RestEvery: 1,
				NewModel: func() explore.Model[*accessModel, string] { return accessExplorer{} }}
			found := search.Run()
			if found.Fault != nil {
				t.Fatalf("%v, after:\n  %s", found.Fault.Err, strings.Join(found.Fault.Way, "\n  "))
			}
			t.Logf("%d states", found.States)
		})
	}
}

// accessExplorer is the model of a search, whose moves are names of actions.
type accessExplorer struct{}

func (a accessExplorer) Successors(from *accessModel) iter.Seq2[string, *accessModel] {
	return func(yield func(string, *accessModel) bool) {
		for _, action := range accessActions() {
			if next := a.Apply(from, action.name); next != nil && !yield(action.name, next) {
				return
			}
		}
	}
}

// Apply returns nil if the action cannot happen.
func (accessExplorer) Apply(from *accessModel, name string) *accessModel {
	for _, a := range accessActions() {
		if a.name == name {
			next := from.clone()
			happened, err := a.do(next)
			if !happened {
				return nil
			}
			if next.violation = err; err == nil {
				next.violation = next.check()
			}
			return next
		}
	}
	return nil
}

func (accessExplorer) Key(m *accessModel) uint64 { return maphash.String(keySeed, m.key()) }

func (accessExplorer) Check(m *accessModel) error { return m.violation }

func (accessExplorer) CheckRest(m *accessModel) error { return m.clone().settle() }
