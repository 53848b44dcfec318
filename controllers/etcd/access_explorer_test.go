package etcd

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

func (m *accessModel) clone() *accessModel {
	next := *m
	next.Users = maps.Clone(m.Users)
	next.Login = m.Login.DeepCopy()
	return &next
}

func (m *accessModel) key() string {
	bare := *m
	bare.Login = nil // by what it says, not by where it is
	return fmt.Sprintf("%+v %+v", bare, m.Login)
}

// accessServer is its server, and what the operator does with the API server. The pass is killed at a call.
type accessServer struct {
	server // of which nothing else is asked
	effects
	*accessModel
	object       *databasev1alpha1.EtcdCluster
	calls, dieAt int
}

func (s *accessServer) call(do func()) error {
	if s.calls++; s.calls == s.dieAt {
		return errCrashed
	}
	do()
	if s.calls == -s.dieAt { // after it is done
		return errCrashed
	}
	return nil
}

func (s *accessServer) save(context.Context) error {
	return s.call(func() { s.Login = s.object.Status.Login.DeepCopy() })
}

func (s *accessServer) LookAtAccess(_ context.Context, users []wire.User, others bool) (membership.Access, error) {
	seen := membership.Access{Known: true, Required: s.Required, HasRole: s.Role}
	for _, u := range users {
		if has, is := s.Users[u.Name]; !is || has.Role != u.Role || s.Required && has.Password != u.Password {
			seen.Refused = append(seen.Refused, u.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Users)) {
		isSpare := slices.Contains(membership.ApplicationUsers, name) && !slices.ContainsFunc(users, func(u wire.User) bool { return u.Name == name })
		if others && name != wire.Root && name != config.BackupUser && (s.Users[name].Role == wire.Root || isSpare) {
			seen.Intruders = append(seen.Intruders, name)
		}
	}
	return seen, nil
}

func (s *accessServer) AddRole(context.Context) error { return s.call(func() { s.Role = true }) }

func (s *accessServer) SetUser(_ context.Context, u wire.User) error {
	if err := s.call(func() { s.Users[u.Name] = modelUser{Password: u.Password} }); err != nil {
		return err
	}
	return s.call(func() { s.Users[u.Name] = modelUser{u.Password, u.Role} })
}

func (s *accessServer) DropUser(_ context.Context, name string) error {
	return s.call(func() { delete(s.Users, name) })
}

func (s *accessServer) RequireLogin(context.Context) error {
	return s.call(func() { s.Required = true })
}

func (m *accessModel) now() time.Time {
	return time.Unix(0, 0).Add(time.Duration(m.Minutes) * time.Minute)
}

// pass runs one pass of the operator by the shipped code, until it is killed at a call: before it, or after it if dieAt is negative.
// What it publishes last is written unless it was killed.
func (m *accessModel) pass(dieAt int) (bool, error) {
	if dieAt != 0 {
		if m.Crashes == 0 {
			return false, nil
		}
		m.Crashes--
	}
	e := &databasev1alpha1.EtcdCluster{}
	only := []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", ID: "1", StartedBy: "p", Ran: true}}
	e.Status.Membership, e.Status.Login = &databasev1alpha1.EtcdMembership{ClusterID: "1", Members: only}, m.Login.DeepCopy()
	s := &accessServer{accessModel: m, object: e, dieAt: dieAt}
	member := membership.Member{Name: "a-0", Record: &only[0], Listed: &membership.ListedMember{ID: 1, Name: "a-0"},
		Pod: membership.Pod{UID: "p", HasRun: true, Ready: true}, View: membership.View{Answered: true, ID: 1, ClusterID: 1, Leader: 1}}
	f := &fleet{cluster: e, spec: membership.Spec{Name: "a", Size: 1, RequiresLogin: true}, effects: s, servers: map[string]server{"a-0": s},
		World: membership.World{Listed: true, Members: []membership.Member{member}}}
	p := passAt(m.now(), f)
	p.known.access = m.now()
	p.in.logins = config.Logins{Root: "r", Backup: "b", Published: m.Binding, Chosen: fmt.Sprint(m.Chosen)}
	p.lookAtAccess(context.Background())
	p.step = p.situation().Plan()
	err := p.execute(context.Background())
	if dieAt != 0 && !errors.Is(err, errCrashed) {
		return false, nil // there was no such call
	}
	if err == nil {
		m.Binding = p.nextLogins().Published
	}
	return true, nil
}

// check returns which promise is broken.
func (m *accessModel) check() error {
	if m.Login != nil && m.Login.Required {
		for _, name := range slices.Sorted(maps.Keys(m.Users)) {
			if m.Users[name].Role == wire.Root && name != wire.Root && name != config.BackupUser {
				return broken("user " + name + " may do everything")
			}
		}
		if !m.Required || m.Users[wire.Root].Password != "r" || m.Users[config.BackupUser].Password != "b" {
			return broken("a login is recorded to be required, and is not, or not by our passwords")
		}
	}
	for _, l := range []config.Login{m.Binding, m.Read} {
		if has := m.Users[l.User]; m.Required && l.User != "" && (has.Password != l.Password || has.Role != wire.ApplicationRole) {
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
func (m *accessModel) settle() error {
	for range 80 {
		if _, err := m.pass(0); err != nil {
			return err
		}
		if l := m.Login; l != nil && l.Required && l.User == m.Binding.User && m.Binding.Password == fmt.Sprint(m.Chosen) && l.FormerUser == "" {
			if len(m.Users) != 3 {
				return broken("users are left over: " + m.key())
			}
			return nil
		}
		if m.Binding == m.Read || m.Read.User == "" {
			m.Minutes++
		}
		m.Read = m.Binding
	}
	return broken("it does not come to rest: " + m.key())
}

// TestNobodyIsLockedOutByAnotherPassword searches all orders of events.
func TestNobodyIsLockedOutByAnotherPassword(t *testing.T) {
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
		{"data with users of before, one crash", map[string]modelUser{"root": {"x", "root"}, "stranger": {"y", "root"}, "application-a": {"z", "root"},
			"application-b": {"z", "application"}, "backup": {"x", "root"}}, false, accessModel{Crashes: 1}},
		{"data that required a login, one crash", map[string]modelUser{"root": {"x", "root"}, "application-a": {"z", "application"}}, true, accessModel{Crashes: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := c.start
			start.Users, start.Required, start.Role = maps.Clone(c.users), c.on, c.on
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

func (x accessExplorer) Successors(from *accessModel) iter.Seq2[string, *accessModel] {
	return func(yield func(string, *accessModel) bool) {
		for _, a := range accessActions() {
			if next := x.Apply(from, a.name); next != nil && !yield(a.name, next) {
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
