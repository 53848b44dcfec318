package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
)

// openWith opens the server with tokens that are signed by a key.
func openWith(t *testing.T, address, key string) *Server {
	t.Helper()
	s, err := Open(address, nil, etcdtoken.New([]byte(key), time.Now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// accessOf is what the server says of these users.
func accessOf(t *testing.T, s *Server, users []User, others bool) membership.Access {
	t.Helper()
	seen, err := s.LookAtAccess(t.Context(), users, others)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// must is for what has to succeed.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestARealServerThatRequiresALogin(t *testing.T) {
	const address, key = "127.77.0.6", "the key of all members"
	file := filepath.Join(t.TempDir(), "token.key")
	must(t, os.WriteFile(file, []byte(key), 0o600))
	runEtcdWith(t, address, nil, etcdtoken.Argument(file, "5m"), "--bcrypt-cost=4") // the least, for the time of the test
	s, ctx := openWith(t, address, key), t.Context()
	eventually(t, "it does not lead", func() bool { return s.Look(ctx).Leader != 0 })
	users := []User{{"root", "r", Root}, {"backup", "b", Root}, {"application-a", "a", ApplicationRole}}
	must(t, s.SetUser(ctx, User{"stranger", "x", Root}))
	must(t, s.SetUser(ctx, User{"application-a", "x", Root}))

	names := []string{"root", "backup", "application-a"}
	if seen := accessOf(t, s, users, true); seen.Required || seen.HasRole || !slices.Equal(seen.Refused, names) ||
		!slices.Equal(seen.Intruders, []string{"application-a", "stranger"}) {
		t.Errorf("before: %+v", seen)
	}
	must(t, s.AddRole(ctx))
	must(t, s.AddRole(ctx)) // again, as after a crash
	must(t, s.DropUser(ctx, "stranger"))
	must(t, s.DropUser(ctx, "stranger"))
	for _, u := range users {
		must(t, s.SetUser(ctx, u))
	}
	must(t, s.RequireLogin(ctx))
	if seen := accessOf(t, s, users, true); !seen.IsRight() || len(seen.Intruders) > 0 {
		t.Errorf("after: %+v", seen)
	}
	users[2].Password = "another"
	if seen := accessOf(t, s, users, false); !slices.Equal(seen.Refused, []string{"application-a"}) {
		t.Errorf("with another password: %+v", seen)
	}
	must(t, s.SetUser(ctx, users[2]))
	if seen := accessOf(t, s, users, false); !seen.IsRight() {
		t.Errorf("with the password that was set: %+v", seen)
	}

	only := s.Look(ctx)
	must(t, s.WriteEntries(ctx, 2))
	maintain(t, s, changeMembers(t, s, only.ID))
	must(t, s.MoveLeader(ctx, only.ID))
	servesProbes(t, address)
	refusesOthers(t, open(t, address))
	other := openWith(t, address, "another key")
	refusesOthers(t, other)
	if only.Version.Minor >= 7 && !other.Look(ctx).LockedOut { // earlier ones show their status to all
		t.Error("a server that refuses the token is just silent")
	}
	toleratesClocks(t, address, key)
	letsIn(t, address, users[1], users[2])
}

// toleratesClocks shows by how much the clock of a server may be ahead of the operator's, and that more is no silence.
func toleratesClocks(t *testing.T, address, key string) {
	t.Helper()
	for behind, isLockedOut := range map[time.Duration]bool{
		-time.Hour: false, etcdtoken.Life - time.Minute: false, etcdtoken.Life + time.Minute: true,
	} {
		s, err := Open(address, nil, etcdtoken.New([]byte(key), func() time.Time { return time.Now().Add(-behind) }))
		must(t, err)
		t.Cleanup(s.Close)
		if _, err := s.LookAtAccess(t.Context(), nil, false); errors.Is(err, ErrLockedOut) != isLockedOut || !isLockedOut && err != nil {
			t.Errorf("the operator's clock is %s behind: %v", behind, err)
		}
	}
}

// servesProbes shows that the kubelet's probes need no login.
func servesProbes(t *testing.T, address string) {
	t.Helper()
	for _, path := range []string{"livez", "readyz", "metrics"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s:%d/%s", address, MetricsPort, path), nil)
		must(t, err)
		reply, err := http.DefaultTransport.RoundTrip(request)
		must(t, err)
		_ = reply.Body.Close()
		if reply.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, reply.Status)
		}
	}
}

// refusesOthers shows that a client without the key changes nothing, and gets an error that says so.
func refusesOthers(t *testing.T, s *Server) {
	t.Helper()
	if _, err := s.AddLearner(t.Context(), "https://c:2380"); !errors.Is(err, ErrLockedOut) {
		t.Errorf("adding a member: %v", err)
	}
	if _, err := s.LookAtAccess(t.Context(), nil, true); !errors.Is(err, ErrLockedOut) {
		t.Errorf("asking who may log in: %v", err)
	}
}

// letsIn shows what a backup and an application may do.
func letsIn(t *testing.T, address string, backup, application User) {
	t.Helper()
	as := func(u User) *clientv3.Client {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{fmt.Sprintf("http://%s:%d", address, ClientPort)}, Logger: zap.NewNop(),
			Username: u.Name, Password: u.Password, DialTimeout: time.Minute})
		must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	client := as(application)
	_, err := client.Put(ctx, "key", "value")
	must(t, err)
	if _, err := client.UserAdd(ctx, "stranger", "x"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		t.Errorf("an application makes a user: %v", err)
	}
	snapshot, err := as(backup).Snapshot(ctx)
	must(t, err)
	defer func() { _ = snapshot.Close() }()
	if n, err := io.Copy(io.Discard, snapshot); err != nil || n == 0 {
		t.Errorf("a snapshot of %d bytes: %v", n, err)
	}
}
